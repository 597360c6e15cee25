"""Every benchmark runs, on little work: contestants agree, figures are judged, kept and shown.
Nothing is timed for its own sake.
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
from benchmarks import (
    bits,
    catalog,
    cold_start,
    disturbance,
    harness,
    memory,
    networks,
    page,
    record,
    roofline,
    setting,
    training,
    worker,
)
from benchmarks import case as it
from benchmarks.case import ALONE, OURS, Case, Times, Within, duration
from benchmarks.cases import (
    calls,
    compiling,
    elementwise,
    gemm,
    matrices,
    mlp,
    optimizers,
    reductions,
    rows,
    scans,
    steps,
    tape,
)
from benchmarks.harness import Effort, Measured
from benchmarks.picture import picture
from benchmarks.record import Entry, Verdict
from benchmarks.table import cells, markdown_table, summary, text_table, verdict_text
from benchmarks.transformer import Transformer

ROOT = Path(__file__).resolve().parents[1]
SMALL = networks.Network((3, 5, 4, 2), 6)
LEAST = Effort(2, 0.0, 0.0)

# The cases


def test_names_labels_and_systems():
    begins = {"numpy": "NumPy", "jax": "JAX", "torch": "torch"}
    for name, (_, case) in catalog.all_cases().items():
        assert case.name == name
        assert case.measures
        for label, each in case.contestants.items():
            if each.peer:
                assert label.split()[0] == begins[each.system], (name, label)
        for goal in case.goals:
            times = dict.fromkeys(case.contestants, 1.0)
            assert goal.found(times, case.peers) is not None, (name, goal)


def test_every_group_has_a_title_and_the_front_page_shows_cases_that_exist():
    assert set(page.TITLES) == set(catalog.GROUPS)
    assert set(page.FRONT) <= set(catalog.all_cases())


def test_cases_are_chosen_by_group_and_by_the_beginning_of_their_names():
    assert catalog.chosen(["tape"]) == list(tape.CASES)
    assert [each.name for each in catalog.chosen(["step tiny"])] == [
        "step tiny, Adam",
        "step tiny, Lars",
    ]
    assert [each.name for each in catalog.chosen(["gemm 64"])] == ["gemm 64"]
    assert len(catalog.chosen([])) == len(catalog.all_cases())
    with pytest.raises(ValueError, match="no case begins with 'gem of'; the groups are steps"):
        catalog.chosen(["gem of"])


def test_cases_import_no_library():
    """Each system's process would import all of them."""
    code = (
        "import sys; from benchmarks.catalog import all_cases; all_cases(); "
        "print([name for name in ('wengert', 'torch', 'jax') if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


# Contestants


SYSTEMS = ["numpy", "jax", "torch"]


def require_contestants(case: Case, system: str, without: tuple[str, ...] = ()) -> None:
    """Ours and those of one system compute the same numbers."""
    if system != "numpy":
        pytest.importorskip(system)
    found = {
        label: worker.numbers(each.make()())
        for label, each in case.contestants.items()
        if each.agrees and each.system in (system, "wengert") and label not in without
    }
    for label, each in found.items():
        harness.require_close(label, each, found[OURS], case.tolerance)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("optimizer", ["Adam", "Lars"])
def test_training_steps(system, optimizer):
    require_contestants(Case("", "", steps.step_contestants(SMALL, optimizer)), system)


@pytest.mark.parametrize("optimizer", ["Adam", "Lars"])
def test_many_steps(monkeypatch, optimizer):
    monkeypatch.setattr(steps, "NETWORKS", {"tiny": SMALL})
    monkeypatch.setattr(steps, "RUNS", {"tiny": 7})
    (case,) = steps.run_cases(optimizer)
    assert list(case.contestants) == [OURS, "step()", "JAX lax.scan"]
    require_contestants(case, "jax")


def test_steps_beside_ourselves(monkeypatch):
    monkeypatch.setenv("WENGERT_GRAIN", "1")  # divide however little there is to do
    monkeypatch.setattr(steps, "NETWORKS", {"tiny": SMALL})
    for case in (steps.threads_case("tiny", 0.98), steps.nonfinite_case("tiny", 1.1)):
        assert case.tolerance == 0
        require_contestants(case, "numpy")


def test_the_products_of_a_step_alone():
    forward, by_weights, by_inputs = steps.products_alone(SMALL)()
    assert [x.shape for x in forward] == [(6, 5), (6, 4), (6, 2)]
    assert [x.shape for x in by_weights] == [(3, 5), (5, 4), (4, 2)]
    assert [x.shape for x in by_inputs] == [(6, 5), (6, 4)]


@pytest.mark.parametrize("system", SYSTEMS)
def test_gradients_of_networks(system):
    require_contestants(mlp.gradient_case("small", SMALL), system)
    require_contestants(mlp.native_case("small", SMALL), system)
    require_contestants(mlp.native_case("row", SMALL._replace(batch=1)), system)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("way", gemm.WAYS)
def test_products(system, way):
    case = gemm.product_case((7, 5, 3), way)
    assert case.name == f"gemm 7 × 5 × 3{f' {way}' if way else ''}"
    require_contestants(case, system)


def test_the_shapes_of_steps_are_named_once():
    found = list(gemm.shapes_of_steps())
    assert len(set(found)) == len(found)
    assert ((784, 128, 512), "TN") in found
    limits = {case.name: case.goals[0].limit for case in gemm.CASES}
    assert (limits["gemm 128"], limits["gemm 256"]) == (1.1, 0.97)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("function", elementwise.FUNCTIONS, ids=lambda each: each.name)
def test_elementwise(system, function):
    require_contestants(elementwise.function_case(function, 100), system)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("reduction", reductions.REDUCTIONS, ids=lambda each: each.name)
def test_reductions(system, reduction):
    for shape, axis in (((6, 5), 0), ((6, 5), 1), ((6, 5), None), ((2, 3, 4), 1)):
        require_contestants(reductions.reduction_case(reduction, shape, axis), system)
    assert reductions.copy(reduction, (6, 5), 0)().shape == (6 if reduction.grows else 3, 5)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("function", rows.FUNCTIONS, ids=lambda each: each.name)
def test_rows(system, function):
    require_contestants(rows.function_case(function, (6, 5), 1.0), system)


@pytest.mark.parametrize("system", SYSTEMS)
def test_cross_entropy(system):
    require_contestants(rows.cross_entropy_case((6, 5), 1.0), system)


@pytest.mark.parametrize("system", SYSTEMS)
def test_scans(system):
    require_contestants(scans.space_case((5, 2, 3, 4)), system)
    require_contestants(scans.simulation_case(3, 7), system)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("optimizer", ["Adam", "SGD", "Lars"])
def test_optimizers(monkeypatch, system, optimizer):
    monkeypatch.setattr(optimizers, "SHAPE", (3, 4))
    require_contestants(optimizers.optimizer_case(optimizer, 3), system)


@pytest.mark.parametrize("system", ["numpy", "torch"])
def test_the_eager_tape(system):
    require_contestants(tape.tape_case(SMALL), system)


@pytest.mark.parametrize("system", SYSTEMS)
def test_matrices(system):
    for kind in ("eigh", "svd"):
        for shape in ((5, 5), (3, 2, 2)):
            require_contestants(matrices.matrix_case(kind, shape), system)


@pytest.mark.parametrize("system", SYSTEMS)
def test_calls(system):
    for case in calls.CASES:
        if not case.reports:
            require_contestants(case, system)


def test_a_call_takes_longer_than_its_work():
    assert 0 < calls.above_the_work(2)() < 1


def test_a_contestant_that_trains_goes_on_and_returns_its_first_losses():
    losses = iter(range(100))
    run = training.steady(lambda: next(losses))
    assert run() == run() == [0, 1, 2, 3, 4]
    assert next(losses) == 7


# Starting


@pytest.mark.parametrize(
    "make",
    [
        lambda library: cold_start.network_step(library, SMALL),
        lambda library: cold_start.transformer_step(library, Transformer(2, 8, 2, 7, 5, 3)),
        lambda library: cold_start.lars_update(library, 3, 4),
    ],
)
def test_programs_of_cold_starts(make):
    pytest.importorskip("jax")
    ours, theirs = (worker.numbers(make(library)()) for library in ("wengert", "jax"))
    harness.require_close("JAX", theirs, ours, 1e-4)


def test_a_cold_start_in_a_process_of_its_own(tmp_path):
    for _ in range(2):
        assert 0 < compiling.start("wengert", "three-layer step", str(tmp_path / "cache")) < 60
    assert set(compiling.PROGRAMS) == set(cold_start.PROGRAMS)


def test_importing_and_making_graphs():
    assert 0 < compiling.importing("json")() < 60
    assert 0 < compiling.graph_building(3)() < 60
    with pytest.raises(ImportError, match="nonsense"):
        compiling._importing_installed("nonsense")


# Goals


def test_goals():
    times = {OURS: 2.0, "NumPy": 6.0, "JAX jit": 4.0, "JAX lax.scan": 3.0, "copy": 1.0}
    peers = ["NumPy", "JAX jit", "JAX lax.scan"]
    assert Times(1.2).found(times, peers) == 1.5
    assert Times(1.2, "NumPy").found(times, peers) == 3
    assert Times(1.2, "JAX").found(times, peers) == 1.5
    assert Times(1.2, "JAX jit").found(times, peers) == 2
    assert Times(0.8, "copy").found(times, peers) == 0.5
    assert Times(1.2, "torch").found(times, peers) is None
    assert [Times(1.2).reached(found) for found in (1.19, 1.2)] == [False, True]
    assert Within(2.0).found(times, peers) == 2
    assert [Within(2.0).reached(found) for found in (2.0, 2.1)] == [True, False]
    assert (Times(1.2).text, Within(0.025).text) == ("≥ 1.2 × the best peer", "≤ 25 ms")


def test_durations():
    found = [duration(each) for each in (3.21e-9, 1.5e-6, 0.0123, 0.99999, 12.0)]
    assert found == ["3.21 ns", "1.5 µs", "12.3 ms", "1 s", "12 s"]


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
    assert 0 < beside.left <= 1


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
    disturbed = Measured({OURS: 4e-5, "JAX jit": 6e-5}, left=0.5)
    found = record.entry("steps", case, disturbed, disturbance.BUSY, {OURS: 1e-5})
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
    assert record.read(tmp_path / "x.json")["step tiny, Adam"].verdicts[0].found is None


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


# Memory and bits


def test_arenas():
    row = memory.arena_row("mnist", SMALL, None)
    assert row[0] == "mnist 3-5-4-2, batch 6"
    assert row[-3:-1] == ["–", "–"]
    assert row[-1].endswith("≤ 0.8 × JAX: not measured")
    assert memory.arena_row("large", SMALL, 10**9)[-1].endswith("≤ 0.8 × JAX: yes")
    deep, shallow = (memory.checkpointed(layers, 3, 16).size for layers in (12, 6))
    assert 0 < shallow <= deep < 12 * memory.BATCH * 16 * 4


def test_arenas_with_jax():
    pytest.importorskip("jax")
    found = memory.jax_temporaries(networks.Network((8, 64, 32, 8), 64))
    assert found is not None
    assert found > 0


def test_what_a_training_step_allocates():
    row = memory.call_row("small", SMALL, calls=3)
    assert row[0] == "small 3-5-4-2, batch 6"
    assert row[2] == "none"
    assert row[-1] == "≤ 400 bytes: yes, 0 in native code: yes"
    assert memory.allocated(lambda: bytes(5000)) >= 5000


def test_digests():
    one, other = (bits.digest(SMALL, 3, count) for count in (1, 2))
    assert one == other
    assert bits.digest(SMALL, 4, 1) != one


def test_digests_of_processes(monkeypatch):
    monkeypatch.setattr(bits, "THREADS", (1, 3))
    found = bits.rows("tiny", 2)
    ways = ["no cache", "no cache, again", "empty cache", "warm cache"]
    assert [row[0] for row in found] == [f"tiny, {way}" for way in ways]
    assert {row[-1] for row in found} == {"the same everywhere: yes"}
    assert len({digest for row in found for digest in row[1:-1]}) == 1
