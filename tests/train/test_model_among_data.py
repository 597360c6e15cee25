"""A model that is given to a run among its data."""

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ShapeError


def _difference(model, target, x, y):
    return wg.mean((model(x) - 0.9 * target(x) - y) ** 2)


@pytest.mark.parametrize("units", [16, 32])
def test_a_target_network_among_the_data_is_told_how_it_is_given(units):
    model, target = wg.nn.Mlp((3, units, 1)), wg.nn.Mlp((3, units, 1))
    x, y = np.ones((32, 3), np.float32), np.ones((32, 1), np.float32)
    step = wg.TrainStep(_difference, model, wg.optim.SGD(0.1))
    said = "'target', a tree of type Mlp, has 4 arrays of .* rows, like the parameters of a model"
    with pytest.raises(ShapeError, match=said) as found:
        step.run(target, x, y, batch_size=8)
    for way in ("averaged", "wg.optim.EMA", "state=", "single calls"):
        assert way in str(found.value)
    assert np.isfinite(step(target, x, y))  # a single call takes it


def test_a_network_whose_arrays_have_as_many_rows_is_no_data_to_cut():
    model, teacher = wg.nn.Linear(8, 4), wg.nn.Linear(8, 8)
    step = wg.TrainStep(lambda m, t, x: wg.mean(m(t(x)) ** 2), model, wg.optim.SGD(0.1))
    with pytest.raises(ShapeError, match=r"If 't' is a network.*the live model of another step"):
        step.run(teacher, np.ones((32, 8), np.float32), batch_size=8)


def test_parameters_in_a_dict_are_told_from_data_of_different_lengths():
    def loss(w, batch, y):
        return wg.sum(w) * wg.mean(batch["a"]) * wg.mean(y)

    step = wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.1))
    with pytest.raises(
        ShapeError, match="'batch', a tree of type dict, has 3 arrays of 4, 9 rows, like"
    ):
        step.run({"a": np.ones((9, 4)), "b": np.ones(9), "c": np.ones(4)}, np.ones(8), batch_size=4)
    for rows in (8, 7):
        said = rf"batch.a: {rows}, batch.b: 7, y: 8\).* Cut them to one length"
        with pytest.raises(ShapeError, match=said):
            step.run({"a": np.ones(rows), "b": np.ones(7)}, np.ones(8), batch_size=4)
