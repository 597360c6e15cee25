"""A step shows its program, and where its time goes; nothing changes."""

import numpy as np
import pytest

import wengert as wg

X, Y = np.ones((8, 3), np.float32), np.ones((8, 2), np.float32)


def loss(m, x, y):
    return np.mean((np.tanh(x @ m["w"]) - y) ** 2)


def make(**options):
    model = {"w": np.full((3, 2), 0.5, np.float32)}
    return wg.TrainStep(loss, model, wg.optim.Adam(0.1), clip_norm=1.0, **options)


@pytest.mark.parametrize("accumulate", [1, 3])
def test_a_profile_covers_the_step(accumulate):
    step = make(accumulate=accumulate)
    step(X, Y)
    before = step.fingerprint()
    profile = step.profile(X, y=Y)
    assert {"matmul", "tanh"} <= {op for kernel in profile.kernels for op in kernel.ops}
    assert profile.seconds > 0
    assert step.fingerprint() == before


def test_an_explanation_is_of_the_program_that_runs():
    step = make()
    text = step.explain(X, Y)
    assert "matmul" in text
    assert "k0" in text
    step(X, Y)
    assert step.explain(X, Y) == text
    assert "call void @work" in step.explain(X, Y, ir=True)
    assert step.explain(X, Y, html=True).startswith("<!")


def test_wrong_batches_are_refused():
    step = make()
    with pytest.raises(TypeError, match=r"TrainStep\.profile: "):
        step.profile(X, z=Y)
    with pytest.raises(wg.errors.ShapeError):
        step.explain(X, Y[:, :1].reshape(4, 2))


def test_a_compiled_function_has_a_profile():
    function = wg.compile(lambda x, k: np.sum(np.tanh(x) * k))
    assert function.profile(X, k=2.0).kernels[0].seconds > 0
