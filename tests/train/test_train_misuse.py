"""What people get wrong in a step, and what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import DTypeError, OptimError, TraceError

x, y = np.ones((8, 3), np.float32), np.zeros((8, 1), np.float32)
SGD = wg.optim.SGD(0.1)


def loss(model: Any, x: Any, y: Any) -> Any:
    return wg.mean((x @ model["weight"] + model["b"] - y) ** 2)


def a_model() -> dict[str, Any]:
    return {"weight": np.ones((3, 1), np.float32), "b": 0.5}


@pytest.mark.parametrize("others", [{"*": None}, {}, {"*": SGD}])
def test_a_mistyped_glob_is_said_before_what_follows_from_it(others):
    with pytest.raises(OptimError, match=r"the glob 'wieght' matches no path.*'weight'"):
        wg.TrainStep(loss, a_model(), {"wieght": SGD, **others})


@pytest.mark.parametrize("how", ["run", "epochs", "evaluate"])
def test_lists_of_numbers_are_refused_by_name(how):
    step = wg.TrainStep(loss, a_model(), SGD)
    function = (loss,) if how == "evaluate" else ()
    for given in ((x.tolist(), y.tolist()), (x.tolist(), y), (x, y.tolist())):
        name = "x" if isinstance(given[0], list) else "y"
        with pytest.raises(
            TraceError, match=rf"TrainStep\.{how}: argument {name!r} is a list.*np\.array"
        ):
            list(getattr(step, how)(*function, *given, batch_size=4))


def test_an_argument_that_a_loss_takes_by_name_only_is_explained():
    def smoothed(model, x, y, *, alpha=0.1):
        return loss(model, x, y) * alpha

    step = wg.TrainStep(smoothed, a_model(), SGD)
    with pytest.raises(TypeError, match=r"alpha can only be given by name.*Remove the \*"):
        step(x, y, alpha=0.2)
    assert step(x, y=y) > 0


def test_a_python_float_in_a_model_is_shown_as_static():
    shown = repr(wg.TrainStep(loss, a_model(), SGD))
    (row,) = [line.split() for line in shown.splitlines() if line.startswith("  b ")]
    assert row[:3] == ["b", "0.5", "static,"]


MASKED = np.ma.masked_array(x, mask=x > 2)


@pytest.mark.parametrize("given", [(MASKED, y), (x, [y, MASKED]), ({"x": MASKED}, y)])
@pytest.mark.parametrize("way", [wg.grad, wg.value_and_grad, wg.jacobian])
def test_a_masked_array_is_refused_among_the_other_arguments(given, way):
    with pytest.raises(DTypeError, match=r"given MaskedArray.*x\.filled\(value\)"):
        way(lambda w, a, b: wg.sum(w))(np.ones(3), *given)
