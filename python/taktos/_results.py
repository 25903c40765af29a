"""Results: documents with a table."""

from __future__ import annotations

import json
from functools import cached_property
from html import escape
from typing import Any, Iterator, Mapping, Optional, Sequence

from ._captures import Capture

#: How many rows a notebook shows.
MOST_SHOWN = 200


class Report(Mapping[str, Any]):
    """A document, and its flows by name."""

    #: The columns of the table, and their heads.
    _columns: Sequence[tuple[str, str]] = ()
    _name = "name"

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def data(self) -> dict[str, Any]:
        """The document, as the command prints it with ``--json``. It is taken apart when it
        is first looked at."""
        return json.loads(self._text)

    @property
    def flows(self) -> list[dict[str, Any]]:
        """A mapping for each flow."""
        return self.data["flows"]

    @property
    def verdict(self) -> Optional[str]:
        """What came of it, in a word."""
        return self.data.get("verdict")

    @property
    def ok(self) -> bool:
        """Whether all is as it should be."""
        raise NotImplementedError

    def __getitem__(self, name: str) -> Any:
        for flow in self.flows:
            if flow[self._name] == name:
                return flow
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (flow[self._name] for flow in self.flows)

    def __len__(self) -> int:
        return len(self.flows)

    def to_frame(self) -> Any:
        """The flows as a ``pandas.DataFrame``, by their names."""
        import pandas

        frame = pandas.DataFrame(self.flows)
        return frame.set_index(self._name) if len(frame) else frame

    def _cell(self, flow: dict[str, Any], key: str) -> str:
        value: Any = flow
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is None:
            return ""
        if key.split(".")[0].endswith("_ns") and isinstance(value, (int, float)):
            return f"{value / 1000:,.1f} µs"
        if key.endswith("_s") and isinstance(value, (int, float)):
            return f"{value * 1e6:,.1f} µs"
        return " ".join(map(str, value)) if isinstance(value, list) else str(value)

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{escape(head)}</th>" for _, head in self._columns)
        rows = []
        for flow in self.flows[:MOST_SHOWN]:
            cells = (escape(self._cell(flow, key)) for key, _ in self._columns)
            rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        more = len(self.flows) - MOST_SHOWN
        note = f"<p>and {more} more</p>" if more > 0 else ""
        head = f"<p>{escape(repr(self))}</p>"
        return f"{head}<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>{note}"

    def __repr__(self) -> str:
        verdict = f", {self.verdict}" if self.verdict else ""
        return f"<taktos.{type(self).__name__}: {len(self.flows)} flows{verdict}>"


class Bounds(Report):
    """Worst cases: ``delay_s`` and ``backlog_bit`` of each flow, ``"unbounded"`` where there
    is none, with the bound of each server in ``hops`` where the method has one. With
    ``method="all"`` a flow has an entry for each method, of which ``bounds[name]`` is the
    first."""

    _name = "id"
    _columns = (("id", "flow"), ("method", "method"), ("delay_s", "delay"), ("backlog_bit", "backlog (bit)"))

    @property
    def ok(self) -> bool:
        """Whether every flow has a finite bound."""
        return bool(self.flows) and all(flow["delay_s"] != "unbounded" for flow in self.flows)

    @property
    def notes(self) -> list[str]:
        """What was assumed, in sentences."""
        return self.data["notes"]


class Admission(Report):
    """Which flows are admitted (``admitted``, ``reason``), with which ``guarantee_ns``, and
    what they meet with the flows that there are (``now_ns``)."""

    _columns = (
        ("name", "flow"),
        ("deadline_ns", "deadline"),
        ("guarantee_ns", "guarantee"),
        ("now_ns", "now"),
        ("path", "path"),
        ("reason", "refused"),
    )

    @property
    def ok(self) -> bool:
        """Whether all flows are admitted."""
        return all(flow["admitted"] for flow in self.flows)


class Proof(Report):
    """What a certificate proves: ``guarantee_ns`` of each flow, or the ``objections``."""

    _columns = (("name", "flow"), ("guarantee_ns", "guarantee"), ("deadline_ns", "deadline"))

    @property
    def ok(self) -> bool:
        """Whether all promises are proven."""
        return self.verdict == "proven"

    @property
    def objections(self) -> list[dict[str, str]]:
        """What is wrong, and where."""
        return self.data["objections"]


class Run(Report):
    """A run: what was promised (``guarantee_ns``) beside what was seen (``latency_ns``)."""

    _columns = (
        ("name", "flow"),
        ("deadline_ns", "deadline"),
        ("guarantee_ns", "bound"),
        ("latency_ns.max", "observed"),
        ("lost", "lost"),
        ("verdict", "verdict"),
    )

    def __init__(self, text: str, captures: Optional[dict[str, Capture]] = None) -> None:
        super().__init__(text)
        #: What was seen on each link, where that was asked for.
        self.captures = captures or {}

    @property
    def ok(self) -> bool:
        """Whether every promise held."""
        return self.verdict == "held"
