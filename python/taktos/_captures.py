"""Captures: the frames that were seen on a link."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Iterator, NamedTuple

from . import _taktos


class Frame(NamedTuple):
    """A frame as it was seen."""

    #: Nanoseconds since 1970, by the clock of the capture.
    time_ns: int
    #: Where it was seen.
    interface: str
    #: Bytes on the wire, without check sequence.
    length: int
    #: What was kept of them, from the destination address on.
    data: bytes


class Capture:
    """The frames of a pcap or pcapng file, which is read when they are first asked for, as far
    as it can be. Made by :func:`taktos.read_capture` and :func:`taktos.run`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _frames(self) -> _taktos.Frames:
        return _taktos.read_capture(str(self.path))

    @property
    def interfaces(self) -> list[str]:
        """The interfaces, by name."""
        return self._frames.interfaces

    def __len__(self) -> int:
        return len(self._frames)

    def __getitem__(self, at: int) -> Frame:
        found = self._frames.frame(at + len(self) if at < 0 else at) if at >= -len(self) else None
        if found is None:
            raise IndexError(at)
        return Frame(*found)

    def __iter__(self) -> Iterator[Frame]:
        return (self[at] for at in range(len(self)))

    def to_frame(self) -> Any:
        """A ``pandas.DataFrame`` with a row a frame."""
        import pandas

        return pandas.DataFrame(self, columns=Frame._fields)

    def __repr__(self) -> str:
        return f"<taktos.Capture {self.path.name}>"
