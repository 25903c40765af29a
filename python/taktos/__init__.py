"""Worst-case delays of time-critical Ethernet, from a notebook.

>>> import taktos
>>> network = taktos.read_saihu("demo.json")
>>> bounds = taktos.analyze(network, method="tfa")
>>> bounds["f0"]["delay_s"]

>>> scenario = taktos.read_scenario("substation.toml")
>>> taktos.check(scenario).ok
>>> taktos.verify(taktos.certify(scenario)).ok
>>> taktos.run(scenario, seed=7)

All results are documents (``.data``, as the commands print with ``--json``) with a table:
``to_frame()`` needs pandas, ``to_networkx()`` networkx, and nothing else needs either. The
unit of a number is in its name: ``_ns`` nanoseconds, ``_s`` seconds, ``_bps`` bits per
second, ``_bit`` and ``_bytes`` sizes, those of frames as they occupy the wire.

Whatever takes long gives other threads the interpreter, and Ctrl-C ends it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable, Iterable, Optional, Union

from . import _taktos
from ._captures import Capture, Frame
from ._frames import network_text
from ._results import Admission, Bounds, Proof, Report, Run
from ._taktos import InputError, RunError, __version__

__all__ = [
    "Admission",
    "Bounds",
    "Capture",
    "Certificate",
    "Frame",
    "InputError",
    "Network",
    "Proof",
    "Report",
    "Run",
    "RunError",
    "Scenario",
    "__version__",
    "analyze",
    "certify",
    "check",
    "network",
    "read_capture",
    "read_network",
    "read_saihu",
    "read_scenario",
    "run",
    "verify",
]

StrPath = Union[str, "os.PathLike[str]"]


class Network:
    """Servers and the flows that cross them. Made by :func:`network` and
    :func:`read_network`."""

    def __init__(self, inner: _taktos.Network) -> None:
        self._inner = inner
        self._data: Optional[dict[str, Any]] = None

    @property
    def data(self) -> dict[str, Any]:
        """The network as ``taktos analyze --print-as taktos`` prints it, in bit, bit/s and
        seconds."""
        if self._data is None:
            self._data = json.loads(self._inner.to_json())
        return self._data

    @property
    def warnings(self) -> list[str]:
        """What was taken differently from how it is written, in sentences."""
        return self._inner.warnings

    def to_json(self) -> str:
        """The network in the format of docs/analysis.md, to the last digit."""
        return self._inner.to_json()

    def to_saihu(self) -> str:
        """The network as Saihu reads it. Raises :class:`InputError` for an order of service
        that Saihu does not know."""
        return self._inner.to_saihu()

    def to_networkx(self) -> Any:
        """A ``networkx.DiGraph``: a node a server, an edge a step that flows take, with
        their names as ``flows``."""
        import networkx

        graph = networkx.DiGraph()
        for server in self.data["servers"]:
            graph.add_node(server["id"], **server)
        for flow in self.data["flows"]:
            for one, other in zip(flow["path"], flow["path"][1:]):
                if not graph.has_edge(one, other):
                    graph.add_edge(one, other, flows=[])
                graph.edges[one, other]["flows"].append(flow["id"])
        return graph

    def __repr__(self) -> str:
        servers, flows = (len(self.data[key]) for key in ("servers", "flows"))
        return f"<taktos.Network {self._inner.id or ''}: {servers} servers, {flows} flows>"


class Scenario:
    """A network, its flows, and what happens to it. Made by :func:`read_scenario`."""

    def __init__(self, inner: _taktos.Scenario, path: Path) -> None:
        self._inner = inner
        self.path = path
        self.data: dict[str, Any] = json.loads(inner.describe())

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The flows, each with ``deadline_ns``, ``rate_bps`` and ``burst_bytes``."""
        return self.data["flows"]

    def to_networkx(self) -> Any:
        """A ``networkx.Graph``: switches and hosts (``kind``), and the links between them
        with ``rate_bps`` and ``propagation_ns``."""
        import networkx

        graph = networkx.MultiGraph()
        for kind in ("switches", "hosts"):
            graph.add_nodes_from(self.data[kind], kind={"switches": "switch", "hosts": "host"}[kind])
        for link in self.data["links"]:
            graph.add_edge(*link["ends"], **link)
        return graph

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(self.data[key])} {key}" for key in ("switches", "hosts", "flows"))
        return f"<taktos.Scenario {self.data['name']}: {counts}>"


class Certificate:
    """What the promises of a scenario rest on, for who trusts nobody
    (docs/certificates.md). Made by :func:`certify`."""

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def data(self) -> dict[str, Any]:
        """The document, in whole bits, bits per second and picoseconds."""
        return json.loads(self.text)

    def save(self, path: StrPath) -> None:
        """Writes it to a file, for ``taktos verify``."""
        Path(path).write_text(self.text, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<taktos.Certificate: {len(self.data['flows'])} promises>"


def read_network(path: StrPath) -> Network:
    """Reads a network of servers: our own format, or Saihu's, which is known by its key
    ``network``. Raises :class:`InputError`, with each mistake's line, column and what would
    be right in ``problems``."""
    text = Path(path).read_text(encoding="utf-8")
    return Network(_taktos.read_network(os.fspath(path), text))


#: Reads an output-port network of Saihu (TSAI23).
read_saihu = read_network


def network(servers: Any, flows: Any, **options: Any) -> Network:
    """Makes a network of tables: DataFrames, or lists of mappings, with the keys of
    docs/analysis.md as columns.

    ``servers`` have ``id``, ``rate_bps``, and may have ``latency_s``, ``link_bps``,
    ``multiplexing``. ``flows`` have ``id``, ``rate_bps``, ``burst_bit``, ``path`` (server ids,
    as a list or in a text with spaces between them), and may have ``max_packet_bit``,
    ``priority``. ``options`` are the keys of the network: ``multiplexing``, ``packetizer``,
    ``line_shaping``. What cannot be used raises :class:`InputError` with row and column.
    """
    return Network(_taktos.read_network("<tables>", network_text(servers, flows, options)))


def read_scenario(path: StrPath) -> Scenario:
    """Reads a scenario file with the files that it imports. Raises :class:`InputError` with
    all mistakes at their places."""
    return Scenario(_taktos.read_scenario(os.fspath(path)), Path(path))


def analyze(
    network: Network,
    method: Optional[str] = None,
    *,
    multiplexing: Optional[str] = None,
    without: Iterable[str] = (),
    flows: Iterable[str] = (),
    budget_s: float = 30.0,
) -> Bounds:
    """Bounds delay and backlog of each flow.

    ``method`` is ``tfa`` (total flow analysis; LUDB, LP and others: docs/analysis.md),
    ``tfa-dnc``, ``sfa``, ``pmoo``, ``tma``, ``ludb``, ``lp``, ``best`` for the least of all
    for each flow, which it is if nobody says otherwise, or ``all``. ``multiplexing`` is
    ``fifo``, ``arbitrary`` or ``strict-priority``, for all servers. ``budget_s`` is how many
    seconds may be searched; flows that are not finished then have the best that was found.

    Bounds hold: all arithmetic is in whole numbers and rounded outward.
    """
    if not (isinstance(budget_s, (int, float)) and 0 < budget_s <= 1e6):
        raise InputError(f"budget_s: {budget_s} is no number of seconds above 0")
    inner = network._inner
    if multiplexing is not None:
        inner = inner.with_multiplexing(multiplexing)
    text = inner.analyze(method, list(without), list(flows), int(budget_s * 1e9))
    return Bounds(text)


def check(scenario: Scenario) -> Admission:
    """Says which flows of a scenario would be admitted, with which guarantee."""
    return Admission(scenario._inner.check())


def certify(scenario: Scenario) -> Certificate:
    """Admits the flows of a scenario and writes down what the promises rest on."""
    return Certificate(scenario._inner.certify())


def verify(certificate: Union[Certificate, StrPath]) -> Proof:
    """Calculates again whether a certificate, or the file of one, proves its promises, by
    code that shares nothing with the analysis. One that was changed raises
    :class:`InputError`."""
    if isinstance(certificate, Certificate):
        text = certificate.text
    else:
        text = Path(certificate).read_text(encoding="utf-8")
    return Proof(_taktos.verify(text))


def read_capture(path: StrPath) -> Capture:
    """Returns the frames of a pcap or pcapng file. Raises :class:`InputError` if it is none."""
    capture = Capture(Path(path))
    len(capture)
    return capture


def run(
    scenario: Scenario,
    world: str = "sim",
    *,
    seed: Optional[int] = None,
    duration: Optional[str] = None,
    captures: Optional[StrPath] = None,
    progress: Optional[Callable[[float, float], object]] = None,
) -> Run:
    """Runs a scenario in virtual time and judges every promise. The same ``seed`` gives the
    same run, to the byte; ``duration`` is as in a scenario, ``"200 ms"``. Real frames in
    namespaces need processes of their own: ``taktos run FILE --world lab``.

    ``captures`` is a folder for what was seen on each link: ``Run.captures`` has a
    :class:`Capture` for each. ``progress`` is told again and again how many seconds have been
    run, and how many there are; what it raises ends the run."""
    if world != "sim":
        raise InputError(
            f"world: there is `sim` here, and no {world!r}; `taktos run FILE --world lab` has real frames"
        )
    folder = None if captures is None else os.fspath(captures)
    if folder is not None and Path(folder).is_dir() and any(Path(folder).iterdir()):
        raise InputError(f"captures: {folder} has files in it: name a folder that is empty, or not there")
    text = scenario._inner.run(seed, duration, folder, progress)
    found = sorted(Path(folder).glob("*.pcapng")) if folder is not None else []
    return Run(text, {path.stem: Capture(path) for path in found})
