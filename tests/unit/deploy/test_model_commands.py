# SPDX-License-Identifier: BSD-2-Clause
"""`skerry model` and `skerry plan` as a user meets them: files, tables, one line for what is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from deploy.cli import main
from topology.model import repairman


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main.main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def results(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Returns what `--json -` prints, and checks that it prints nothing else."""
    status, out, _ = run(capsys, *arguments, "--json", "-")
    assert status == 0
    return json.loads(out)


def test_predict_gives_one_result_for_each_delay_and_core_count(capsys: pytest.CaptureFixture[str]) -> None:
    found = results(capsys, "model", "predict", "--service", "358", "--delay", "500..32000", "--cores", "1..28")
    assert found["command"] == "model predict" and {"skerry", "host"} <= set(found)
    points = {(r["metrics"]["delay_cycles"], r["cores"]): r for r in found["results"]}
    assert set(points) == {(500 * 2**i, n) for i in range(7) for n in range(1, 29)} and len(found["results"]) == 7 * 28
    for (delay, n), result in points.items():
        metrics = result["metrics"]
        assert metrics["service_cycles"] == 358
        assert metrics["throughput_per_cycle"] == pytest.approx(repairman.steady(358, delay, n).throughput)
        assert metrics["throughput_lower_bound_per_cycle"] == pytest.approx(repairman.steady(613, delay, n).throughput)
        assert metrics["throughput_upper_bound_per_cycle"] == pytest.approx(repairman.steady(323, delay, n).throughput)
        assert (result["lock"], result["clusters"], result["system"]) == ("clh", 1, "skerry")


def test_predict_shows_the_knees_and_the_collapse(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = run(capsys, "model", "predict", "--delay", "4000", "--cores", "14", "--quiet")
    assert "knee at 323" in out and "13.4" in out and err == ""
    _, out, _ = run(capsys, "model", "predict", "--lock", "ticket", "--delay", "500,1e9", "--cores", "1..28")
    assert "most at" in out and "over 28" in out


def test_bounds_are_for_service_times_within_them(capsys: pytest.CaptureFixture[str]) -> None:
    given = "model", "predict", "--cores", "2", "--delay", "500"
    assert (
        "throughput_lower_bound_per_cycle" not in results(capsys, *given, "--service", "100")["results"][0]["metrics"]
    )
    assert (
        "throughput_lower_bound_per_cycle" not in results(capsys, *given, "--bounds", "none")["results"][0]["metrics"]
    )
    other = results(capsys, *given, "--service", "100", "--bounds", "90,200")["results"][0]["metrics"]
    assert other["throughput_upper_bound_per_cycle"] == pytest.approx(repairman.steady(90, 500, 2).throughput)


@pytest.mark.parametrize("lock", ["clh", "ticket"])
def test_fit_finds_what_predict_was_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], lock: str) -> None:
    file, plot = tmp_path / "p.json", tmp_path / "p.svg"
    run(capsys, "model", "predict", "--lock", lock, "--service", "300", "--delay", "1000,4000", "--json", file)
    found = results(capsys, "model", "fit", file, "--plot", plot)
    for result, delay in zip(found["results"], (1000, 4000)):
        metrics = result["metrics"]
        assert metrics["service_cycles"] == pytest.approx(300, rel=1e-3)
        assert metrics["delay_cycles"] == pytest.approx(delay, rel=1e-3)
        assert metrics["nominal_delay_cycles"] == delay and metrics["r_squared"] == pytest.approx(1)
    assert b"<svg" in plot.read_bytes()


def test_fit_says_what_it_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = [
        {"cores": n, "lock": lock, "metrics": {"throughput_per_cycle": repairman.steady(358, 2000, n).throughput}}
        for lock, most in (("clh", 8), ("rtm", 8), ("mcs", 2))
        for n in range(1, most + 1)
    ]
    file = tmp_path / "r.json"
    file.write_text(json.dumps({"results": entries}))
    status, out, _ = run(capsys, "model", "fit", file)
    assert status == 0 and "358.0" in out
    assert "rtm: transactions do not queue" in out and "mcs: 2 different core counts" in out


@pytest.mark.parametrize("name", ["a.png", "a.svg", "a.pdf"])
def test_plots(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    for command in (
        ["model", "predict", "--cores", "1..4"],
        ["plan", "--sockets", "2", "--cores", "2", "--delay", "900"],
    ):
        file = tmp_path / name
        assert run(capsys, *command, "--plot", file)[0] == 0
        assert file.stat().st_size > 2000
        file.unlink()


def test_simulate_beside_the_closed_form(capsys: pytest.CaptureFixture[str]) -> None:
    given = "model", "simulate", "--delay", "1000", "--cores", "1,14,28", "--entries", "4000"
    found = results(capsys, *given)
    assert [r["cores"] for r in found["results"]] == [1, 14, 28]
    one, socket, both = (r["metrics"] for r in found["results"])
    assert one["service_cycles"] == 164 and socket["throughput_per_cycle"] > both["throughput_per_cycle"]
    assert results(capsys, *given)["results"] == found["results"]
    checked = results(capsys, *given, "--markov", "--lock", "ticket")["results"]
    for metrics in (r["metrics"] for r in checked):
        width = metrics["throughput_half_width_per_cycle"]
        assert abs(metrics["throughput_per_cycle"] - metrics["closed_form_per_cycle"]) < 2 * width
    aborted = results(capsys, *given, "--lock", "rtm", "--conflict", "0.3")["results"][1]["metrics"]
    assert 0 < aborted["fallback_ratio"] < 1 and aborted["conflicts_per_entry"] > 0


def test_plan_advises(capsys: pytest.CaptureFixture[str]) -> None:
    given = "plan", "--sockets", "2", "--cores", "14", "--loss", "10"
    found = results(capsys, *given, "--delay", "4000")
    assert found["advice"]["layout"] == "size=7" and found["advice"]["largest_cluster"] == 9
    assert [r["cores"] for r in found["results"]] == list(range(1, 29))
    assert [r["within_limit"] for r in found["results"]] == [n <= 9 for n in range(1, 29)]
    status, out, _ = run(capsys, *given, "--delay", "16000")
    assert status == 0 and "Layout: per-socket" in out and "Assumed:" in out


def test_a_rate_is_turned_into_a_delay(capsys: pytest.CaptureFixture[str]) -> None:
    """a rate becomes a delay: 2 GHz and 100,000 entries a second are 20,000 cycles, 358 of them under the lock"""
    found = results(capsys, "plan", "--sockets", "2", "--cores", "4", "--rate", "100000", "--ghz", "2")
    assert found["results"][0]["metrics"]["delay_cycles"] == pytest.approx(20_000 - 358)


def test_plan_for_transactions(capsys: pytest.CaptureFixture[str]) -> None:
    given = "plan", "--sockets", "1", "--cores", "12", "--delay", "1000", "--service", "200", "--lock", "rtm"
    calm, stormy = (results(capsys, *given, "--conflict", p)["advice"] for p in ("0", "0.5"))
    assert calm["layout"] == "spanning" and stormy["largest_cluster"] < 12


XML = """<topology version="2.0"><object type="Machine" os_index="0" cpuset="0x000000ff" complete_cpuset="0x000000ff"
 allowed_cpuset="0x000000ff" nodeset="0x00000001" complete_nodeset="0x00000001" allowed_nodeset="0x00000001"
 gp_index="1">
<object type="Package" os_index="0" cpuset="0x000000ff" complete_cpuset="0x000000ff" nodeset="0x00000001"
 complete_nodeset="0x00000001" gp_index="2">
<object type="NUMANode" os_index="0" cpuset="0x000000ff" complete_cpuset="0x000000ff" nodeset="0x00000001"
 complete_nodeset="0x00000001" gp_index="3" local_memory="8589934592"/>{caches}</object></object></topology>"""


def xml(cores: int, caches: int) -> str:
    """A socket of L3 caches of as many cores."""

    def sets(bits: int) -> str:
        nodes = 'nodeset="0x00000001" complete_nodeset="0x00000001"'
        return f'cpuset="0x{bits:08x}" complete_cpuset="0x{bits:08x}" {nodes}'

    def core(n: int) -> str:
        pu = f'<object type="PU" os_index="{n}" {sets(1 << n)} gp_index="{200 + n}"/>'
        return f'<object type="Core" os_index="{n}" {sets(1 << n)} gp_index="{100 + n}">{pu}</object>'

    def cache(i: int) -> str:
        inside = range(i * cores, (i + 1) * cores)
        kind = f'type="L3Cache" os_index="{i}" gp_index="{50 + i}" cache_size="16777216" depth="3" cache_type="0"'
        line = 'cache_linesize="64" cache_associativity="16"'
        content = "".join(core(n) for n in inside)
        return f"<object {kind} {line} {sets(sum(1 << n for n in inside))}>{content}</object>"

    return XML.format(caches="".join(cache(i) for i in range(caches)))


def test_plan_for_a_saved_topology(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "machine.xml"
    file.write_text(xml(cores=4, caches=2))
    found = results(capsys, "plan", "--from", file, "--delay", "3000", "--loss", "8")
    assert found["advice"]["layout"] == "per-l3" and found["advice"]["clusters"] == [4, 4]
    assert [r["crosses_cache"] for r in found["results"]] == [False] * 4 + [True] * 4


WRONG = {
    "model predict --lock rtm": "--lock: 'rtm' is not one of clh, mcs, ticket",
    "model predict --lock elided": "--lock: 'elided'",
    "model predict --service 0": "--service: 0 is not above 0",
    "model predict --service -5": "--service: -5 is not above 0",
    "model predict --service nan": "--service: nan",
    "model predict --delay 9..3": "--delay: '9..3'",
    "model predict --cores 0..4": "--cores: '0..4'",
    "model predict --bounds 613,323": "--bounds: '613,323'",
    "model predict --transfer -1": "--transfer: -1",
    "model predict --plot /nowhere/a.png": "--plot /nowhere/a.png: no such folder",
    "model predict --cores 1..3 --plot /tmp/a.txt": "--plot /tmp/a.txt",
    "model predict --json /nowhere/a.json": "--json /nowhere/a.json: no such folder",
    "model predict extra": "extra",
    "model nonsense": "nonsense",
    "model fit": "RESULTS.json",
    "model fit /nowhere.json": "/nowhere.json: no such file",
    "model fit /nowhere.json --ghz 0": "--ghz: 0 is not above 0",
    "model simulate --lock fine": "--lock: 'fine'",
    "model simulate --lock rtm --markov": "--lock: 'rtm'",
    "model simulate --conflict 2": "--conflict: 2",
    "model simulate --conflict nan": "--conflict: nan",
    "model simulate --lines inf": "--lines: inf",
    "model simulate --overhead nan": "--overhead: nan",
    "model simulate --attempts 0": "--attempts",
    "model simulate --entries 10": "--entries",
    "model simulate --hold 0": "--hold: 0 is not above 0",
    "plan": "--rate: say how often",
    "plan --rate 1 --delay 1": "--rate: say how often",
    "plan --delay 1 --ghz 2": "--ghz: belongs to --rate",
    "plan --sockets 2 --rate 1000": "--rate: is per second",
    "plan --sockets 2 --rate 1e9 --ghz 2": "--rate: 1e+09",
    "plan --sockets 2 --rate 0 --ghz 2": "--rate: 0 is not above 0",
    "plan --delay -1": "--delay: -1",
    "plan --delay 9 --loss 0": "--loss: 0 is not between",
    "plan --delay 9 --loss 100": "--loss: 100 is not between",
    "plan --delay 9 --lock none": "--lock: 'none'",
    "plan --delay 9 --sockets 1 --lock rtm": "--lock rtm: needs --conflict",
    "plan --delay 9 --remote-service 100": "--remote-service: 100 is below",
    "plan --delay 9 --from live --sockets 2": "--from: is for a real machine",
    "plan --delay 9 --smt maybe": "--smt: 'maybe'",
    "plan --delay 9 --sockets 1 --smt off": "--smt: is for a real machine",
    "plan --delay 9 --from /nowhere.xml": "/nowhere.xml: no such file",
}


@pytest.mark.parametrize("command", WRONG)
def test_wrong_input_is_one_line_that_names_the_culprit(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, *command.split())
    lines = [line for line in err.splitlines() if line]
    assert status == 2 and WRONG[command] in lines[-1] and lines[-1].startswith("skerry: ")
    assert "Traceback" not in err
