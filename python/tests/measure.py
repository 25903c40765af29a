"""How long 10,000 flows take from Python and by a command, with the wheel installed:
``python python/tests/measure.py target/release/taktos``."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import taktos

SERVERS, FLOWS, ROUNDS = 40, 10_000, 15


def network() -> taktos.Network:
    """A line of servers, and flows of two to five hops."""
    servers = [{"id": f"s{at}", "rate_bps": 10**10, "latency_s": 1e-6} for at in range(SERVERS)]
    flows = [
        {
            "id": f"f{at}",
            "rate_bps": 10**4,
            "burst_bit": 4096,
            "path": [f"s{at % (SERVERS - 5) + hop}" for hop in range(2 + at % 4)],
        }
        for at in range(FLOWS)
    ]
    return taktos.network(servers, flows, multiplexing="fifo")


def main(program: str) -> None:
    path = Path(tempfile.mkdtemp()) / "network.json"
    path.write_text(network().to_json())
    for method in ("tfa", "sfa"):
        took: dict = {"Python": [], "Python, with its rows": [], "command": []}
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            bounds = taktos.analyze(taktos.read_network(path), method)
            took["Python"].append(time.perf_counter() - begun)
            rows = bounds.flows
            took["Python, with its rows"].append(time.perf_counter() - begun)
            begun = time.perf_counter()
            words = [program, "analyze", path, "--method", method, "--json"]
            told = subprocess.run(words, capture_output=True, check=True).stdout
            took["command"].append(time.perf_counter() - begun)
            assert json.loads(told)["flows"] == rows
        for who, times in took.items():
            print(f"{method}, {who}: {min(times) * 1e3:.0f} ms, median {statistics.median(times) * 1e3:.0f} ms")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main(sys.argv[1])
