"""The command ``taktos``, in this process: ``python -m taktos`` and what pipx installs."""

from __future__ import annotations

import os
import signal
import sys
import sysconfig

from . import _taktos


def main() -> int:
    # The program has its own ways with signals, or none: Ctrl-C ends it as everywhere.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    return _taktos.command([program(), *sys.argv[1:]])


def program() -> str:
    """What starts the command by itself, which measurements of its own switch do."""
    if os.path.basename(sys.argv[0]) == "taktos":
        return sys.argv[0]
    return os.path.join(sysconfig.get_path("scripts"), "taktos")


if __name__ == "__main__":
    sys.exit(main())
