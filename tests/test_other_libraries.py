"""Habits from other libraries: their methods, SciPy's functions, sparse matrices, ragged data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.special

import wengert as wg
from wengert.core.elsewhere import REPAIRS
from wengert.core.tensor import Tensor
from wengert.errors import CheckpointError, DTypeError, MissingAttribute, TraceError

x = np.ones((3, 3))
BOTH = pytest.mark.parametrize("transform", [wg.grad, wg.compile])


@BOTH
@pytest.mark.parametrize("name", REPAIRS)
def test_a_method_of_another_library_is_told_its_name_here(name, transform):
    with pytest.raises(
        AttributeError, match=rf"Tensor\.{name}: .*\(test_other_libraries\.py:\d+\)"
    ):
        transform(lambda x: getattr(x, name)())(x)


@pytest.mark.parametrize("name", REPAIRS)
def test_no_repair_is_of_a_method_that_exists(name):
    assert name not in dir(Tensor)


WRITTEN = {
    "view": lambda x: x.reshape((9,)),
    "permute": lambda x: x.transpose((1, 0)),
    "unsqueeze": lambda x: wg.expand_dims(x, 0),
    "detach": lambda x: wg.stop_gradient(x),
    "expand": lambda x: wg.broadcast_to(x, (2, 3, 3)),
    "clamp": lambda x: wg.clip(x, 0, 1),
    "gather": lambda x: wg.take_along_axis(x, np.zeros((3, 1), int), 1),
    "index_select": lambda x: wg.take(x, np.array([0]), 0),
    "masked_fill": lambda x: wg.where(x > 0, 2, x),
    "norm": lambda x: wg.linalg.norm(x),
    "chunk": lambda x: wg.split(x, 3)[0],
}


@pytest.mark.parametrize("name", WRITTEN)
def test_the_repair_works(name):
    names = set(WRITTEN[name].__code__.co_names) - {"np", "wg", "int"}
    assert any(f".{each}(" in REPAIRS[name] for each in names)
    wg.compile(WRITTEN[name])(x)


def test_functions_of_ours_and_near_misses_are_named():
    for name, words in {
        "exp": r"Write wg\.exp\(x\)",
        "softmax": r"Write wg\.softmax\(x\)",
        "reshap": r"Write x\.reshape\.",
        "colour": "Write it with the functions of wg",
    }.items():
        with pytest.raises(MissingAttribute, match=words):
            wg.compile(lambda x, name=name: getattr(x, name))(x)


def test_hasattr_works_and_what_exists_is_found():
    seen = []
    wg.compile(
        lambda x: seen.append([hasattr(x, n) for n in ("view", "__view__", "sum", "T")]) or x
    )(x)
    assert seen == [[False, False, True, True]]
    assert wg.compile(lambda x: x.squeeze())(np.ones((1, 3))).shape == (3,)


@BOTH
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (scipy.special.expit, r"scipy\.special\.expit: .*this SciPy function is not recorded"),
        (scipy.special.erf, r"scipy\.special\.erf: .*Write wg\.erf\."),
        (scipy.special.logsumexp, r"scipy\.special\.logsumexp: .*Write wg\.logsumexp\."),
        (scipy.linalg.norm, r"scipy\.linalg\.norm: .*Write wg\.linalg\.norm\."),
        (scipy.linalg.expm, r"scipy\.linalg\.expm: .*Write it with the functions of wg"),
    ],
)
def test_a_function_of_scipy_is_named_as_such(function, words, transform):
    with pytest.raises(TraceError, match=words + r".*\(test_other_libraries\.py:\d+\)"):
        transform(lambda x: wg.sum(function(x)))(x)


def test_a_loss_that_scipy_calls_has_numpys_own_message():
    def loss(w):
        return float(wg.grad(lambda w: wg.sum(np.array(w) ** 2))(w)[0])

    with pytest.raises(TraceError, match=r"^np\.array: "):
        scipy.optimize.minimize(loss, np.ones(2))


@pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_a_sparse_operand_is_refused_by_its_name(make):
    sparse = make(np.eye(3))
    words = r"(matmul|multiply|sum): given a scipy\.sparse\.\w+ of shape \(3, 3\).*toarray"
    for call in (
        lambda: wg.matmul(x, sparse),
        lambda: wg.sum(sparse),
        lambda: wg.grad(lambda x: wg.sum(x @ sparse))(x),
        lambda: wg.compile(lambda x: x @ sparse)(x),
        lambda: wg.compile(lambda x: x * sparse)(x),
    ):
        with pytest.raises(DTypeError, match=words):
            call()
    with pytest.raises(TraceError, match=r"scipy\.sparse\.__matmul__: .*toarray"):
        wg.compile(lambda x: sparse @ x)(x)


def step() -> wg.TrainStep:
    return wg.TrainStep(lambda w, x: wg.sum(w * x), np.ones(2), wg.optim.SGD(0.1))


@pytest.mark.parametrize(
    ("data", "repair"),
    [
        (np.array([None, 1.0]), "Convert it with astype"),
        (np.array(["a", "b"]), "Convert it with astype"),
        (np.ones(2, complex), "Convert it with astype"),
        (np.array([np.ones(2), np.ones(3)], dtype=object), r"np\.stack them"),
    ],
)
def test_data_that_are_no_numbers(data, repair):
    made = step()
    before = made.fingerprint()
    words = rf"argument 'x' has dtype .*; it must hold bools, integers or floats\. .*{repair}"
    with pytest.raises(DTypeError, match=r"TrainStep\.run: " + words):
        made.run(data, batch_size=1)
    with pytest.raises(DTypeError, match=r"TrainStep\.epochs: " + words):
        made.epochs(data, batch_size=1)
    with pytest.raises(DTypeError, match=r"TrainStep\.evaluate: " + words):
        made.evaluate(lambda w, x: wg.sum(w), data, batch_size=1)
    assert made.fingerprint() == before


def test_half_precision_is_data_as_before():
    step().run(np.ones((4, 2), np.float16), batch_size=2)


@pytest.mark.parametrize("kind", [FileNotFoundError, CheckpointError])
def test_a_file_that_does_not_exist(kind, tmp_path):
    with pytest.raises(kind, match=r"load: '.*none\.safetensors' does not exist"):
        wg.load(tmp_path / "none.safetensors")
    with pytest.raises(kind, match=r"load: '.*none\.safetensors' does not exist"):
        step().load(tmp_path / "none.safetensors")
