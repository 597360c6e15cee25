"""The harness of the benchmarks measures, judges, keeps and shows what it was given. Nothing is
timed for its own sake.
"""

import json
import math
import os
import subprocess
import sys
import xml.etree.ElementTree as xml
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import (
    __main__ as command,
)
from benchmarks import case as it
from benchmarks import (
    catalog,
    disturbance,
    fixed_order,
    harness,
    networks,
    page,
    record,
    roofline,
    setting,
    worker,
)
from benchmarks.case import ALONE, OURS, Case, Times
from benchmarks.cases import (
    calls,
)
from benchmarks.harness import Effort, Measured
from benchmarks.picture import picture
from benchmarks.record import Entry, Verdict
from benchmarks.table import cells, markdown_table, summary, text_table, verdict_text

ROOT = Path(__file__).resolve().parents[1]
SMALL = networks.Network((3, 5, 4, 2), 6)
LEAST = Effort(2, 0.0, 0.0)

# The harness


def fake_case(**settings) -> Case:
    makers = {
        OURS: it.ours(lambda: lambda: np.ones(3)),
        "NumPy": it.numpy(lambda: lambda: np.ones(3)),
        "torch": it.torch(missing),
        "sleep": it.yardstick(lambda: lambda: 5),
    }
    return Case("fake", "nothing", makers, (Times(0.001), Times(1, "torch")), **settings)


def missing() -> it.Run:
    raise ImportError("no torch", name="torch")


@pytest.fixture
def fake(monkeypatch):
    case = fake_case(disturbed=True)
    monkeypatch.setattr(worker, "case_named", lambda name: case)
    return case


def test_a_contest_measures_those_that_are_there(fake):
    with harness.Systems(together=True) as systems, harness.Contest(fake, systems) as contest:
        contest.require_agreement()
        found = contest.measure(LEAST)
        beside = contest.measure_beside(LEAST, disturbance.PRODUCTS, found.seconds)
    for each in (found, beside):
        assert list(each.seconds) == [OURS, "NumPy", "sleep"]
        assert all(0 < x < 1 for x in each.seconds.values())
        assert each.missing == {"torch": "torch is not installed"}
    assert found.left == 1
    assert found.undisturbed is None
    assert 0 < beside.left <= 1
    assert beside.undisturbed is not None
    assert 0 < beside.undisturbed < 1


def test_a_contest_without_us_is_refused(monkeypatch):
    case = fake_case()
    broken = replace(case, contestants={**case.contestants, OURS: it.ours(missing)})
    monkeypatch.setattr(worker, "case_named", lambda name: broken)
    systems = harness.Systems(together=True)
    with systems, pytest.raises(RuntimeError, match="fake: torch is not installed"):
        harness.Contest(broken, systems)


def test_reported_seconds_count(monkeypatch):
    times = iter([3.0, 2.0, 4.0])
    case = Case("x", "", {OURS: it.ours(lambda: lambda: next(times))}, (), reports=True)
    monkeypatch.setattr(worker, "case_named", lambda name: case)
    with harness.Systems(together=True) as systems, harness.Contest(case, systems) as contest:
        assert contest.measure(Effort(3, 0.0, 0.0)).seconds == {OURS: 2.0}


def test_disagreement_is_refused():
    with pytest.raises(AssertionError, match="theirs"):
        harness.require_close("theirs", [np.zeros(3)], [np.ones(3)], 1e-3)
    with pytest.raises(AssertionError, match="theirs returns 2 arrays, not 1"):
        harness.require_close("theirs", [1.0, 1.0], [np.ones(3)], 1e-3)


def test_results_of_any_form_are_compared_in_one_order():
    found = worker.numbers(({"b": 2, "a": [1.0, (np.arange(2),)]}, 3))
    assert [x.tolist() for x in found] == [1.0, [0, 1], 2, 3]


def test_blocks_take_the_best_and_the_mean(monkeypatch):
    clock = iter([0, 1, 10, 13, 20, 21])  # before and after: to warm up, and two bursts
    monkeypatch.setattr(worker.time, "perf_counter", lambda: next(clock))
    assert worker._bursts(lambda: None, 0.0, 2) == worker.Block(0.5, 1.0)


def test_a_system_in_a_process_of_its_own():
    process = harness.Process("numpy", 1)
    try:
        assert process.ask("make", "call 2 arrays", "NumPy add") is None
        (found,) = process.ask("numbers", "NumPy add")
        assert found.tolist() == [3.0] * calls.ELEMENTS
        block = process.ask("block", "NumPy add", 0.0, ALONE)
        assert 0 < block.best <= block.mean < 1
        process.ask("drop")
        with pytest.raises(RuntimeError, match="numpy: KeyError: 'NumPy add'"):
            process.ask("numbers", "NumPy add")
    finally:
        process.close()
    with pytest.raises((RuntimeError, ValueError)):
        process.ask("drop")


def test_a_process_in_the_middle_of_a_call_is_ended(monkeypatch):
    monkeypatch.setattr(harness, "GRACE", 0.1)
    started = []

    def start(*args, **settings):
        started.append(subprocess.Popen([sys.executable, "-c", "while True: pass"], **settings))
        return started[0]

    popen = {"Popen": start, "PIPE": subprocess.PIPE, "TimeoutExpired": subprocess.TimeoutExpired}
    monkeypatch.setattr(harness, "subprocess", SimpleNamespace(**popen))
    harness.Process("numpy", 1).close()
    assert started[0].poll() is not None


def test_a_busy_process_runs_as_long_as_it_is_wanted(monkeypatch):
    started = []
    popen = subprocess.Popen

    def start(command):
        started.append(popen(command))
        return started[-1]

    monkeypatch.setattr(disturbance.subprocess, "Popen", start)
    with disturbance.busy_process():
        assert started
        assert all(each.poll() is None for each in started)
    assert all(each.poll() is not None for each in started)


def test_work_that_is_done_beside_other_work():
    called = []
    assert disturbance.work_done(0.02, 2, lambda: called.append(1)) > 0
    assert len(called) == 15


def test_libraries_are_told_how_many_threads_to_use(monkeypatch):
    assert setting.variables(2)["OPENBLAS_NUM_THREADS"] == "2"
    assert "multi_thread_eigen=false" in setting.variables(1)["XLA_FLAGS"]
    assert setting.variables(2)["XLA_FLAGS"] == ""
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert setting.threads() == 3
    assert "core" in setting.machine()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no process can be kept to cores")
def test_jax_has_as_many_cores_as_others_have_threads(monkeypatch):
    kept: list[Any] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5, 1, 3})
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: kept.append(cores))
    for count, system in (("1", "jax"), ("2", "jax"), ("4", "jax"), ("1", "torch")):
        monkeypatch.setenv("OMP_NUM_THREADS", count)
        setting.keep_to_cores(system)
    assert kept == [[5], [3, 5], [1, 3, 5]]
    assert setting.versions()["wengert"] == "0.1.0"


# What was measured: kept and shown


def sample(name="step tiny, Adam", **settings) -> Entry:
    _, case = catalog.all_cases()[name]
    seconds = {OURS: 1e-5, "JAX jit": 5e-5, "torch fused": 5e-4, "NumPy by hand": 9e-6}
    found = record.entry("steps", case, Measured(seconds, {"torch foreach": "why"}))
    return replace(
        record.stamped(found, "2030-01-02T03:04+00:00", 0.1, "A machine", {"numpy": "9"}, False),
        **settings,
    )


def test_figures_are_judged():
    found = sample()
    assert found.verdicts == [
        Verdict("≥ 10 × JAX", pytest.approx(5), False),
        Verdict("≥ 40 × torch", pytest.approx(50), True),
    ]
    assert not found.reached
    assert found.best_peer == "NumPy by hand"
    assert found.ratio == pytest.approx(0.9)
    assert found.ratio_to("torch") == pytest.approx(50)
    assert sample("run tiny, Adam").ratio_to("torch") is None


def test_figures_beside_other_work_are_judged_by_what_is_left():
    case = catalog.case_named("step tiny, Adam")
    disturbed = Measured({OURS: 4e-5, "JAX jit": 6e-5}, left=0.5, undisturbed=1e-5)
    found = record.entry("steps", case, disturbed, disturbance.BUSY)
    assert found.key == "step tiny, Adam, beside a half-busy process"
    assert found.verdicts == [
        Verdict("≥ 1 × the best peer", pytest.approx(1.5), True),
        Verdict("≥ 0.9 × what is left", pytest.approx(0.5), False),
    ]


def test_entries_are_kept_and_merged(tmp_path):
    path = tmp_path / "deep" / "found.json"
    assert record.read(path) == {}
    old = sample(machine="old"), sample("gemm 64", group="gemm"), replace(sample(), name="gone")
    record.write(path, old)
    assert json.loads(path.read_text(encoding="utf-8"))["cases"][0]["machine"] == "old"
    again = record.read(path)
    assert again["gone"] == replace(old[2], verdicts=again["gone"].verdicts)
    new = sample(machine="new"), sample(beside=disturbance.BUSY)
    merged = record.merged(again, new, catalog.all_cases())
    assert [each.key for each in merged] == [
        "step tiny, Adam",
        "step tiny, Adam, beside a half-busy process",
        "gemm 64",
    ]
    assert merged[0].machine == "new"
    assert [each.goal for each in merged[2].verdicts] == ["≥ 1.1 × the best peer"]


def test_numbers_that_are_not_finite_are_null_in_json(tmp_path):
    record.write(tmp_path / "x.json", [sample(verdicts=[Verdict("x", math.inf, True)])])
    assert record.read(tmp_path / "x.json")["step tiny, Adam"].verdicts[0].measured is None


def test_tables():
    found = sample()
    told = "≥ 10 × JAX: NO, 5.00; ≥ 40 × torch: yes, 50.0"
    assert cells(found) == ["step tiny, Adam", "10 µs", "0.90", "5.00", "50.0", told]
    assert text_table([found]).splitlines()[1].endswith(told)
    head, rule, row = markdown_table([found]).splitlines()
    assert head == "| | wengert | × NumPy | × JAX | × torch | goals |"
    assert rule == "| --- | ---: | ---: | ---: | ---: | --- |"
    assert row.startswith("| step tiny, Adam | 10 µs | **0.90** | 5.00 | 50.0 | ≥ 10 × JAX: **no**")
    assert verdict_text(Verdict("≤ 25 ms", 0.03, False)) == "≤ 25 ms: NO, 30 ms"
    assert verdict_text(Verdict("≥ 2 × JAX", None, None)) == "≥ 2 × JAX: not measured"
    assert summary([found]) == ("Faster than the best peer in 0 of 1 cases; 1 of 2 goals reached.")


def test_the_picture_has_a_bar_for_each_case():
    found = [sample(), sample("gemm 64", group="gemm"), sample("import", seconds={OURS: 1.0})]
    root = xml.fromstring(picture(found))
    titles = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["step tiny, Adam: 0.90 × NumPy by hand", "gemm 64: 5.00 × JAX jit"]


def test_kernels_under_the_roofs(monkeypatch):
    monkeypatch.setattr(roofline, "NETWORKS", {"tiny": SMALL})
    found = roofline.profiles(("tiny",))
    assert list(found) == ["step tiny (3-5-4-2, batch 6)"]
    root = xml.fromstring(roofline.roofline(found))
    dots = list(root.iter("{http://www.w3.org/2000/svg}circle"))
    (profile,) = found.values()
    shown = [each for each in profile.kernels if each.share >= roofline.LEAST and each.flops]
    assert len(dots) == len(shown) > 3


def test_the_price_of_the_fixed_order_is_that_of_two_programs(monkeypatch):
    """Sums in another order have other bits, and nothing is left of it afterwards."""
    monkeypatch.setenv("WENGERT_CACHE", "0")
    made = {}
    for title, function, shapes in (
        ("sum", lambda x: np.sum(x, axis=1), ((70, 256),)),
        ("matrix × vector", np.matmul, ((40, 600), (600,))),
        ("dot", np.matmul, ((5000,), (5000,))),
    ):
        runs = made[title] = []

        def make(function=function, shapes=shapes, runs=runs):
            runs.append(fixed_order.compiled(function, *shapes))
            return runs[-1]

        told = fixed_order.row(title, make, 0.0)
        assert told[0] == title
        assert told[-1].startswith("≤ 5%: ")
        fixed, free, again = (np.asarray(run()) for run in (*runs, make()))
        np.testing.assert_array_equal(fixed, again)
        np.testing.assert_allclose(free, fixed, 1e-4, 1e-3)
        assert (free != fixed).any(), title


def test_the_pages_show_what_is_in_the_json():
    entries = list(record.read(page.DOCS / "benchmarks.json").values())
    assert entries
    assert {each.name for each in entries} <= set(catalog.all_cases())
    parts = {
        page.DOCS / "benchmarks.md": page.figures(entries, (page.DOCS / "roofline.svg").exists()),
        page.README: page.front(entries),
    }
    for path, part in parts.items():
        text = path.read_text(encoding="utf-8")
        assert page.with_part(text, part) == text, "python -m benchmarks page writes it"
    drawn = (page.DOCS / "benchmarks.svg").read_text(encoding="utf-8")
    assert drawn == picture(entries)
    assert all(each.machine and each.when and each.versions for each in entries)


def test_notes_name_the_machine_and_what_is_rough():
    first, second = sample(), sample(when="2030-01-05T00:00", quick=True, load=2.6)
    assert page.notes([first]) == ["Measured on A machine, 2030-01-02; numpy 9."]
    told = page.notes([first, second])
    assert told[0] == "Measured on A machine, 2030-01-02 to 2030-01-05; numpy 9."
    assert told[1] == "Roughly: 1 of 2 figures are of a quick run."
    assert "while 1 of 2 figures were measured (load average up to 3)" in told[2]
    assert page.notes([sample(load=None)])[1].startswith("Whether others used the machine was not")


# The command


def test_an_unknown_case_is_refused():
    with pytest.raises(SystemExit, match="no case begins with 'gem of'"):
        command.main(["gem of"])
    with pytest.raises(SystemExit, match="page stands alone"):
        command.main(["page", "gemm"])


def test_cases_are_listed(capsys):
    command.main(["tape", "--list"])
    assert capsys.readouterr().out.split()[:3] == ["tape", "tiny", "value"]


def test_a_run_tells_keeps_and_draws(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(page, "MEASURED", tmp_path / "found.json")
    monkeypatch.setattr(page, "DRAWN", tmp_path / "found.svg")
    monkeypatch.setattr(command, "QUICK", LEAST)
    monkeypatch.setattr(command, "Systems", lambda together: harness.Systems(True))
    command.main(["graph of", "--quick"])
    said = capsys.readouterr().out
    assert "wengert 0.1.0" in said.splitlines()[0]
    assert ("Others use this machine" in said) == (setting.load() > setting.IDLE)
    assert "1/1  graph of 2,000 nodes" in said
    assert "1 goals reached" in said or "0 of 1 goals reached" in said
    (found,) = record.read(tmp_path / "found.json").values()
    assert (found.name, found.group, found.quick) == ("graph of 2,000 nodes", "compiling", True)
    assert (tmp_path / "found.svg").exists()


def test_a_disturbed_case_is_measured_alone_and_beside_other_work(fake):
    with harness.Systems(together=True) as systems:
        found = list(command.measure(fake, "steps", systems, LEAST, (disturbance.PRODUCTS,)))
    assert [each.key for each in found] == ["fake", "fake, beside NumPy's products"]
    assert [len(each.verdicts) for each in found] == [2, 2]
