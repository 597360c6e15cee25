"""Every public function says what it takes and shows how it is used."""

import enum
import inspect
import types

import numpy as np
import pytest

import wengert as wg

MODULES = {
    "wg": wg,
    "wg.distributions": wg.distributions,
    "wg.linalg": wg.linalg,
    "wg.nn": wg.nn,
    "wg.optim": wg.optim,
    "wg.random": wg.random,
    "wg.train": wg.train,
    "wg.train.metrics": wg.train.metrics,
    "wg.tree": wg.tree,
}
# Types that are asked about or handed out, not called.
RECEIVED = {"Dim", "Gradients", "LearningRate", "Scratch", "StepOptimizer", "Structure", "Tensor"}
RECEIVED |= {"EnsembleEpoch", "EnsembleFunction", "EnsembleHistory", "EnsembleLast"}
RECEIVED |= {"Check", "Epoch", "EpochRecord", "History", "Last", "KeyValueCache", "MambaState"}


def public():
    for where, module in MODULES.items():
        for name in getattr(module, "__all__", None) or dir(module):
            value = getattr(module, name)
            if name.startswith("_") or name in RECEIVED or not callable(value):
                continue
            if isinstance(value, types.ModuleType | enum.EnumType):
                continue
            if isinstance(value, type) and issubclass(value, np.generic):
                continue
            yield f"{where}.{name}", value


PUBLIC = dict(public())


def test_there_are_many():
    assert len(PUBLIC) > 350


@pytest.mark.parametrize("name", PUBLIC)
def test_it_is_described_with_an_example(name):
    text = inspect.getdoc(PUBLIC[name]) or ""
    assert ">>> " in text, f"{name} shows no example"
    parameters = inspect.signature(PUBLIC[name]).parameters
    assert list(parameters) != ["args", "kwargs"], f"{name} hides what it takes"
