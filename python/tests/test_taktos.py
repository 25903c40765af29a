"""The package as its users meet it, installed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import taktos

ROOT = Path(__file__).resolve().parents[2]
SAIHU = ROOT / "crates/scenario/tests/vectors/saihu/demo.json"
SUBSTATION = ROOT / "scenarios/substation.toml"
PAIR = """
[scenario]
title = "A pair"
duration = "200 ms"
[network]
generator = "line"
size = 2
hosts_per_switch = 1
[flows.control]
kind = "udp"
from = "h1"
to = "h2"
frame = "306 B"
rate = "1 Mbit/s"
deadline = "10 ms"
"""
SERVERS = [{"id": "s1", "rate_bps": 1e8, "latency_s": 1e-5}, {"id": "s2", "rate_bps": 1e8}]
FLOWS = [{"id": "f", "rate_bps": 1e6, "burst_bit": 8000, "path": "s1 s2"}]


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "taktos", *map(str, arguments)], capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def pair(tmp_path):
    (tmp_path / "pair.toml").write_text(PAIR)
    return taktos.read_scenario(tmp_path / "pair.toml")


def large(flows, servers=40):
    """A line of servers with many flows of two to five hops."""
    lines = [{"id": f"s{at}", "rate_bps": 10**10, "latency_s": 1e-6} for at in range(servers)]
    crossing = [
        {
            "id": f"f{at}",
            "rate_bps": 10**4,
            "burst_bit": 4096,
            "path": [f"s{at % (servers - 5) + hop}" for hop in range(2 + at % 4)],
        }
        for at in range(flows)
    ]
    return taktos.network(lines, crossing)


@pytest.mark.parametrize("method", ["tfa", "sfa", "ludb", "lp", "best", "all"])
def test_bounds_are_those_of_the_command(method):
    bounds = taktos.analyze(taktos.read_saihu(SAIHU), method=method)

    told = json.loads(command("analyze", SAIHU, "--method", method, "--json").stdout)
    assert bounds.flows == told["flows"]
    assert bounds.ok and len(bounds) > 0


def test_a_network_of_tables_is_the_one_of_the_file(tmp_path):
    pandas = pytest.importorskip("pandas")
    network = taktos.network(pandas.DataFrame(SERVERS), pandas.DataFrame(FLOWS), multiplexing="fifo")
    (tmp_path / "n.json").write_text(network.to_json())

    assert taktos.read_network(tmp_path / "n.json").data == network.data
    assert taktos.read_saihu(write(tmp_path, network.to_saihu())).data["flows"][0]["path"] == ["s1", "s2"]
    # 10 us and 8,000 bit at 100 Mbit/s; then those and the 90 bit of these 90 us.
    assert float(taktos.analyze(network, "tfa")["f"]["delay_s"]) == pytest.approx(90e-6 + 80.9e-6, rel=1e-9)
    assert taktos.analyze(network).to_frame().loc["f", "delay_s"] > 0


def write(folder, text):
    path = folder / "saihu.json"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "table, row, column, value, why",
    [
        ("flows", 0, "rate_bps", float("nan"), "nan is no number"),
        ("flows", 0, "rate_bps", -1.0, "-1.0 is below 0"),
        ("flows", 0, "burst_bit", "8 kB", "'8 kB' is no number"),
        ("flows", 0, "path", "s1 s3", "there is no server 's3'"),
        ("flows", 0, "path", 7, "7 is no list of servers"),
        ("servers", 1, "rate_bps", float("inf"), "inf is no number"),
        ("servers", 1, "rate_bps", None, "it is missing"),
        ("servers", 1, "colour", "red", "there is no such column"),
    ],
)
def test_a_wrong_cell_is_named_with_its_row_and_column(table, row, column, value, why):
    tables = {"servers": [dict(it) for it in SERVERS], "flows": [dict(it) for it in FLOWS]}
    tables[table][row][column] = value

    with pytest.raises(taktos.InputError) as error:
        taktos.network(**tables)

    assert f"{table} row {row}, column {column!r}: {why}" in str(error.value)
    assert error.value.problems[0]["row"] == row
    pandas = pytest.importorskip("pandas")
    frames = {name: pandas.DataFrame(rows, index=[f"r{at}" for at in range(len(rows))]) for name, rows in tables.items()}
    with pytest.raises(taktos.InputError) as error:
        taktos.network(**frames)
    assert f"{table} row 'r{row}', column {column!r}" in str(error.value)


def test_what_the_reader_refuses_is_an_exception():
    with pytest.raises(taktos.InputError, match="burst"):
        taktos.network(SERVERS, [{**FLOWS[0], "max_packet_bit": 9000}])
    with pytest.raises(taktos.InputError, match="there is no `fast`"):
        taktos.analyze(taktos.network(SERVERS, FLOWS), method="fast")
    with pytest.raises(taktos.InputError, match="there is no flow `g`"):
        taktos.analyze(taktos.network(SERVERS, FLOWS), flows=["g"])
    with pytest.raises(taktos.InputError, match="there is no `lifo`"):
        taktos.analyze(taktos.network(SERVERS, FLOWS), multiplexing="lifo")
    with pytest.raises(taktos.InputError, match="budget_s"):
        taktos.analyze(taktos.network(SERVERS, FLOWS), budget_s=float("nan"))


def test_mistakes_of_a_file_have_line_and_help(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(PAIR.replace('to = "h2"', 'to = "h3"'))

    with pytest.raises(taktos.InputError) as error:
        taktos.read_scenario(path)

    [problem] = error.value.problems
    assert (error.value.file, problem["line"]) == (str(path), 12)
    assert "h3" in problem["message"] and problem["help"]
    assert f"{path}:12:" in str(error.value)
    with pytest.raises(FileNotFoundError):
        taktos.read_network(tmp_path / "nowhere.json")
    with pytest.raises(OSError):
        taktos.read_scenario(tmp_path / "nowhere.toml")


def test_a_scenario_is_checked_certified_proven_and_run(pair):
    admission = taktos.check(pair)
    certificate = taktos.certify(pair)
    proof = taktos.verify(certificate)
    ran = taktos.run(pair, seed=7)

    assert admission.ok and proof.ok and ran.ok, (admission, proof, ran)
    guarantee = admission["control"]["guarantee_ns"]
    assert proof["control"]["guarantee_ns"] == guarantee
    assert 0 < ran["control"]["latency_ns"]["max"] <= guarantee
    assert ran.data == taktos.run(pair, seed=7).data
    for result in (admission, proof, ran):
        assert "control" in result._repr_html_() and "µs" in result._repr_html_()
    with pytest.raises(taktos.InputError, match="it was changed"):
        taktos.verify(taktos.Certificate(certificate.text.replace(str(guarantee), str(guarantee + 1))
                                         if str(guarantee) in certificate.text
                                         else certificate.text.replace("h1", "h9")))
    with pytest.raises(taktos.InputError, match="--world lab"):
        taktos.run(pair, world="lab")
    with pytest.raises(taktos.InputError, match="duration"):
        taktos.run(pair, duration="soon")


def test_a_network_is_a_graph(pair):
    pytest.importorskip("networkx")
    graph = pair.to_networkx()

    assert set(graph.nodes) == {"s1", "s2", "h1", "h2"}
    assert graph.nodes["h1"]["kind"] == "host" and graph.number_of_edges() == 3
    steps = taktos.network(SERVERS, FLOWS).to_networkx()
    assert steps.edges["s1", "s2"]["flows"] == ["f"]


def test_names_do_nothing_to_a_page():
    flows = [{**FLOWS[0], "id": "<script>alert(1)</script>"}]
    assert "<script>" not in taktos.analyze(taktos.network(SERVERS, flows), "tfa")._repr_html_()


def test_other_threads_run_meanwhile():
    network, counted, done = large(2_000), [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    before = counted[0]
    taktos.analyze(network, "ludb", budget_s=1)
    done.set()
    counter.join()

    assert counted[0] - before > 1_000


def test_ctrl_c_ends_an_analysis_and_the_next_one_works():
    network = large(3_000)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()

    with pytest.raises(KeyboardInterrupt):
        while True:
            taktos.analyze(network, "best", budget_s=600)

    timer.join()
    assert taktos.analyze(taktos.network(SERVERS, FLOWS), "tfa").ok


def test_a_child_of_a_fork_analyzes_as_well():
    network = taktos.network(SERVERS, FLOWS)
    expected = taktos.analyze(network, "tfa").flows
    pid = os.fork()
    if pid == 0:
        os._exit(0 if taktos.analyze(network, "tfa").flows == expected else 1)

    assert os.waitpid(pid, 0)[1] == 0


def test_the_command_is_the_program(tmp_path):
    (tmp_path / "pair.toml").write_text(PAIR)
    checked = command("check", tmp_path / "pair.toml")
    wrong = command("check", tmp_path / "nothing.toml")

    assert checked.returncode == 0 and "1 of 1 flows would be admitted" in checked.stdout
    assert wrong.returncode == 2 and "cannot read" in wrong.stderr
    assert taktos.__version__ in command("--version").stdout
    program = Path(sys.executable).with_name("taktos")
    if program.exists():
        assert subprocess.run([program, "--version"], capture_output=True).returncode == 0


def test_a_measurement_says_what_was_typed():
    typed = ["measure", "latency", "emulated:zodiac-fx", "--quick", "--set", "window=none", "--json"]
    measured = json.loads(command(*typed).stdout)

    assert measured["conditions"]["command"] == " ".join(["taktos", *typed])


@pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces")
def test_the_command_starts_a_switch_of_its_own():
    measured = command("measure", "latency", "taktos", "--quick", "--set", "window=none", "--json")

    assert measured.returncode == 0, measured.stderr
    assert json.loads(measured.stdout)["figures"]


def test_ctrl_c_ends_the_command():
    process = subprocess.Popen([sys.executable, "-m", "taktos", "controller", "--openflow", "127.0.0.1:0", "--http", "127.0.0.1:0"],
                               stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stderr.readline()
    process.send_signal(signal.SIGINT)

    assert process.wait(timeout=60) in (0, 130, -signal.SIGINT)
    assert "panicked" not in process.stderr.read()


def test_the_document_says_what_to_write(tmp_path, monkeypatch):
    pytest.importorskip("pandas"), pytest.importorskip("networkx")
    text = (ROOT / "docs/python.md").read_text()
    block = text.split("```python\n")[1].split("```")[0]
    (tmp_path / "network.json").write_text(SAIHU.read_text())
    (tmp_path / "substation.toml").write_text(SUBSTATION.read_text())
    monkeypatch.chdir(tmp_path)
    names = {}

    exec(block, names)

    assert names["bounds"].ok


def test_captures_hold_the_frames_of_the_report(pair, tmp_path):
    run = taktos.run(pair, captures=tmp_path / "captures")

    at_receiver = next(capture for name, capture in run.captures.items() if "h2" in name)
    sent = [frame for frame in at_receiver if frame.length == 306]
    assert len(sent) == run["control"]["received"] > 0
    assert sent == sorted(sent, key=lambda frame: frame.time_ns)
    assert all(len(frame.data) == 306 and frame.interface == "h2" for frame in sent)
    assert at_receiver[-1] == list(at_receiver)[-1]
    with pytest.raises(IndexError):
        at_receiver[len(at_receiver)]
    with pytest.raises(taktos.InputError, match="has files in it"):
        taktos.run(pair, captures=tmp_path / "captures")


def test_no_capture_is_read_from_another_file(tmp_path):
    (tmp_path / "no.pcapng").write_bytes(b"no capture" * 100)

    with pytest.raises(taktos.InputError, match="no.pcapng"):
        taktos.read_capture(tmp_path / "no.pcapng")
    with pytest.raises(FileNotFoundError):
        taktos.read_capture(tmp_path / "none.pcapng")


def test_progress_is_told_and_may_end_the_run(pair):
    told = []

    taktos.run(pair, progress=lambda *seconds: told.append(seconds))

    assert told and all(0 <= done <= whole for done, whole in told)

    def give_up(done, whole):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        taktos.run(pair, progress=give_up)
