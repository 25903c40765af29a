"""The command ``taktos``, in this process: ``python -m taktos`` and what pipx installs."""

from __future__ import annotations

import signal
import sys

from . import _taktos


def main() -> int:
    # The program has its own ways with signals, or none: Ctrl-C ends it as everywhere.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    return _taktos.command(["taktos", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
