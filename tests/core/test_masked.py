"""Masked arrays are known without importing `numpy.ma`, and while another thread imports it."""

import subprocess
import sys
import types

import numpy as np
import pytest

import wengert as wg
from wengert.core.words.masked import is_masked_array


@pytest.fixture
def half_imported(monkeypatch):
    """`numpy.ma` as other threads find it while it is being imported."""
    monkeypatch.setitem(sys.modules, "numpy.ma", types.ModuleType("numpy.ma"))


@pytest.mark.usefixtures("half_imported")
@pytest.mark.parametrize(
    "use",
    [
        lambda _, x: wg.compile(lambda x: x * 2.0)(x),
        lambda _, x: wg.compile(lambda x: x * 2.0)(x[::2]),
        lambda _, x: wg.grad(lambda x: (x * x).sum())(x),
        lambda _, x: wg.vjp(np.sin, x)[1](x),
        lambda _, x: wg.jvp(np.sin, (x,), (x,)),
        lambda _, x: wg.TrainStep(lambda w, x: (w * x).sum(), x, wg.optim.SGD(0.1))(x),
        lambda folder, x: wg.save(folder / "x.safetensors", {"x": x}),
    ],
    ids=["compile", "strided", "grad", "vjp", "jvp", "train", "save"],
)
def test_nothing_looks_at_a_module_that_is_being_imported(use, tmp_path):
    use(tmp_path, np.ones(4))


def test_nothing_imports_it(tmp_path):
    program = """
import sys
import numpy as np
import wengert as wg
x = np.ones(3)
wg.grad(lambda x: (x * x).sum())(x)
step = wg.TrainStep(lambda w, x: ((w - x) ** 2).sum(), x, wg.optim.Adam(0.1))
step(x[::-1])
step.save(sys.argv[1])
step.load(sys.argv[1])
wg.save(sys.argv[1], {"x": x})
wg.load(sys.argv[1])
assert "numpy.ma" not in sys.modules
"""
    path = tmp_path / "saved"
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)


def test_masked_arrays_are_known():
    x = np.ones(3)
    assert not is_masked_array(x)
    assert is_masked_array(np.ma.masked_array(x))
    assert is_masked_array(np.ma.masked)
    doubled = wg.compile(lambda x: x * 2.0)
    assert (doubled(np.ma.masked_array(x, [False] * 3)) == 2).all()
    with pytest.raises(TypeError, match="masked elements"):
        doubled(np.ma.masked_array(x, [False, True, False]))


X = np.arange(3.0) + 1
MASKED = np.ma.array(X, mask=[0, 1, 0])
MATRIX = np.eye(3).view(np.matrix)
WITH_CONSTANTS = {
    "right": lambda a: np.sum(a * MASKED),
    "left": lambda a: np.sum(MASKED * a),
    "ufunc": lambda a: np.sum(np.add(MASKED, a)),
    "compared": lambda a: np.sum(np.less(MASKED, a) * a),
    "where": lambda a: np.sum(np.where(a > 1, a, MASKED)),
    "concatenate": lambda a: np.sum(np.concatenate([a, MASKED])),
    "stack": lambda a: np.sum(wg.stack([a, MASKED])),
    "dot": lambda a: np.dot(MASKED, a),
    "einsum": lambda a: np.einsum("i,i", a, MASKED),
    "matmul": lambda a: MASKED @ a,
    "masked": lambda a: np.sum(a * np.ma.masked),
    "without masked elements": lambda a: np.sum(a * np.ma.array(X)),  # it may get some
    "index": lambda a: np.sum(a[np.ma.array([0, 1], mask=[0, 1])]),
    "scan": lambda a: wg.scan(lambda c, x: (c + x, c), a[0], MASKED)[0],
    "checkpoint": lambda a: np.sum(wg.checkpoint(lambda x, y: x * y)(a, MASKED)),
}


@pytest.mark.parametrize("use", WITH_CONSTANTS)
@pytest.mark.parametrize(
    "transform",
    [
        lambda f: wg.grad(f)(X),
        lambda f: wg.compile(f)(X),
        lambda f: wg.trace(f, X),
        lambda f: wg.jvp(f, (X,), (X,)),
    ],
    ids=["grad", "compile", "trace", "jvp"],
)
def test_a_mask_is_not_lost_where_it_meets_a_tensor(transform, use):
    with pytest.raises(wg.errors.WengertError, match="operands have no masks"):
        transform(WITH_CONSTANTS[use])


def test_a_masked_array_is_no_result_of_a_program():
    with pytest.raises(wg.errors.DTypeError, match="masked array"):
        wg.compile(lambda x: (x, MASKED))(X)


@pytest.mark.parametrize("use", [lambda a: a * MATRIX, lambda a: MATRIX * a, lambda a: MATRIX @ a])
def test_a_matrix_means_another_product(use):
    for transform in (wg.grad, wg.compile):
        with pytest.raises(wg.errors.DTypeError, match=r"given np\.matrix"):
            transform(lambda x: np.sum(use(x)))(X)
