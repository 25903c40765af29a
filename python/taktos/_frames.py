"""Networks from tables, with each mistake at its row and column."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional

from ._taktos import InputError

#: How many mistakes are listed.
MOST_MISTAKES = 20

#: Numbers of a table, with the least that makes sense.
SERVER_NUMBERS = {"rate_bps": 0, "latency_s": 0, "link_bps": 0}
FLOW_NUMBERS = {"rate_bps": 0, "burst_bit": 0, "max_packet_bit": 0, "priority": 0}
NEEDED = {"servers": ("id", "rate_bps"), "flows": ("id", "rate_bps", "burst_bit", "path")}
TEXTS = {"servers": ("id", "multiplexing"), "flows": ("id", "branch_of")}
LISTS = {"servers": ("service",), "flows": ("buckets",)}


class Mistakes:
    """What is wrong with tables."""

    def __init__(self) -> None:
        self.problems: list[dict[str, Any]] = []
        self.count = 0

    def note(self, table: str, row: Any, column: str, message: str) -> None:
        self.count += 1
        if len(self.problems) < MOST_MISTAKES:
            self.problems.append({"table": table, "row": row, "column": column, "message": message})

    def raise_any(self) -> None:
        if not self.count:
            return
        lines = [f"{it['table']} row {it['row']!r}, column {it['column']!r}: {it['message']}" for it in self.problems]
        if self.count > len(lines):
            lines.append(f"and {self.count - len(lines)} more")
        error = InputError("\n".join(lines))
        error.problems = self.problems
        raise error


def network_text(servers: Any, flows: Any, options: Mapping[str, Any]) -> str:
    """Returns a network as JSON."""
    mistakes = Mistakes()
    server_rows = [row for _, row in rows("servers", servers, SERVER_NUMBERS, mistakes)]
    known = {row.get("id") for row in server_rows}
    flow_rows = []
    for label, row in rows("flows", flows, FLOW_NUMBERS, mistakes):
        path = row.get("path")
        if path is not None:
            row["path"] = path_of(label, path, known, mistakes)
        flow_rows.append(row)
    mistakes.raise_any()
    return json.dumps({**options, "servers": server_rows, "flows": flow_rows})


def rows(
    table: str, source: Any, numbers: Mapping[str, int], mistakes: Mistakes
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Goes through the rows of a table, each with its label; empty cells are left out."""
    for label, row in labelled(source):
        if not isinstance(row, Mapping):
            mistakes.note(table, label, "", f"a {type(row).__name__} is no row")
            continue
        clean: dict[str, Any] = {}
        for column in NEEDED[table]:
            replaced = {"rate_bps": "service" if table == "servers" else "buckets", "burst_bit": "buckets"}
            if row.get(column) is None and row.get(replaced.get(column, column)) is None:
                mistakes.note(table, label, column, "it is missing")
        for column, value in row.items():
            if value is None or (column not in NEEDED[table] and is_nan(value)):
                continue
            if column in numbers:
                value = number(value, numbers[column], lambda why: mistakes.note(table, label, column, why))
            elif column in TEXTS[table]:
                value = str(value)
            elif column != "path" and column not in LISTS[table]:
                mistakes.note(table, label, str(column), "there is no such column")
            if value is not None:
                clean[column] = value
        yield label, clean


def labelled(source: Any) -> Iterable[tuple[Any, Any]]:
    """Goes through a DataFrame by its index, or through a list by number."""
    if hasattr(source, "to_dict") and hasattr(source, "index"):
        return zip(source.index, source.to_dict("records"))
    return enumerate(source)


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def number(value: Any, least: int, note: Callable[[str], None]) -> Any:
    """Returns a number that JSON has, or notes why it is none."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, Decimal):
        value = int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return note(f"{value!r} is no number")
    if isinstance(value, float) and not math.isfinite(value):
        return note(f"{value} is no number")
    if value < least:
        return note(f"{value} is below {least}")
    return int(value) if isinstance(value, float) and value.is_integer() else value


def path_of(label: Any, path: Any, known: set[Any], mistakes: Mistakes) -> Optional[list[str]]:
    if isinstance(path, str):
        path = path.split()
    if is_nan(path) or not isinstance(path, Iterable):
        mistakes.note("flows", label, "path", f"{path!r} is no list of servers")
        return None
    servers = [str(server) for server in path]
    for server in servers:
        if server not in known:
            mistakes.note("flows", label, "path", f"there is no server {server!r}")
    return servers
