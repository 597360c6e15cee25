"""Training in one of several processes that share nothing: when a warning says so, and when not."""

import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.train.ranked.unshared import _VARIABLES, launched_rank

NAMES = [name for pair in _VARIABLES for name in pair]


@pytest.fixture(autouse=True)
def nothing_launched(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


def environ(patch, **named):
    for name, value in named.items():
        patch.setenv(name, value)


def step(**options):
    return wg.TrainStep(lambda w, x: wg.mean(x * w), np.ones(1), wg.optim.SGD(0.1), **options)


def ensemble(**options):
    optimizer = wg.optim.SGD(0.1)
    return wg.Ensemble(lambda w, x: wg.mean(x * w), [np.ones(1), np.zeros(1)], optimizer, **options)


def fitted():
    neural = pytest.importorskip("wengert.sklearn")
    return neural.MLPClassifier().fit(np.eye(4), [0, 1, 0, 1])


SAID = {
    step: r"TrainStep: made without ranks in rank 0 of 3 \(PMI_SIZE=3\).*ranks=wg.parallel.mpi\(\)",
    ensemble: "Ensemble: made in rank 0 of 3 .*other members on each rank.*ranks='alone'",
    fitted: "fit: called in rank 0 of 3 .*simplefilter",
    wg.parallel.one_process: "parallel.one_process: called in rank 0 of 3 .*wg.parallel.mpi",
}


@pytest.mark.parametrize("make", SAID, ids=lambda make: make.__name__)
def test_the_first_of_several_processes_says_that_they_share_nothing(make, monkeypatch):
    environ(monkeypatch, PMI_SIZE="3", PMI_RANK="0")
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.errors.UnsharedWarning)
        with pytest.raises(wg.errors.UnsharedWarning, match=SAID[make]):
            make()


@pytest.mark.parametrize(
    "named",
    [
        {},
        {"PMI_SIZE": "1", "PMI_RANK": "0"},
        {"PMI_SIZE": "3", "PMI_RANK": "1"},  # one of them says it for all
        {"PMI_SIZE": "", "OMPI_COMM_WORLD_SIZE": "many"},
        {"PMI_SIZE": "1", "SLURM_STEP_NUM_TASKS": "4"},  # Slurm started a launcher
        {"SLURM_NTASKS": "4"},  # a batch script
    ],
)
def test_others_say_nothing(named, monkeypatch):
    environ(monkeypatch, **named)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step()


@pytest.mark.parametrize("make", [step, ensemble])
def test_alone_says_that_it_is_meant(make, monkeypatch):
    environ(monkeypatch, OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = make(ranks="alone")
    monkeypatch.undo()
    same = make()
    found(np.ones((2, 1))), same(np.ones((2, 1)))
    if make is step:
        assert found.fingerprint() == same.fingerprint()
    else:
        assert [found.fingerprint(i) for i in range(2)] == [same.fingerprint(i) for i in range(2)]


@pytest.mark.parametrize(("size", "rank"), _VARIABLES)
def test_each_launcher_is_understood(size, rank, monkeypatch):
    environ(monkeypatch, **{size: "5", rank: "2"})
    assert launched_rank() == (2, 5, size)
