"""Batch arguments that are no rows: vectors of a known length, parameters of each experiment, and
matrices.
"""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import stepped, warned
from wengert.errors import ShapeError, SizeWarning

ONE = np.array(1.0)
PAIR = np.array([3.0, 1.0])


def of_each(p, currents):
    return wg.sum(wg.vmap(lambda a, i: wg.sum((a - i) ** 2))(p, currents))


def unpacked(p, x0):
    angle, speed = x0
    return (p * angle - speed) ** 2


def traced(p, matrix):
    return p * np.trace(matrix)


def scanned(p, x0):
    def body(carry, _):
        angle, speed = carry
        return np.stack([angle + p * speed, speed]), angle

    return wg.sum(wg.scan(body, x0, length=3)[1])


def swinging(p, x0, times):
    def slopes(y, _):
        angle, speed = y
        return np.stack([speed, -p * np.sin(angle)])

    return wg.sum(wg.odeint(slopes, x0, times))


def test_parameters_of_each_experiment_are_mapped_beside_its_data_without_a_word():
    assert warned(stepped(of_each, np.zeros(6), np.ones((6, 2)))) == []
    with pytest.raises(ShapeError, match=r"vmap: the mapped axes have sizes 6 \(a\), 5 \(i\)"):
        stepped(of_each, np.zeros(6), np.ones((5, 2)))()


def test_a_vector_with_a_name_for_each_element_has_that_size():
    assert warned(stepped(unpacked, ONE, PAIR)) == []
    assert warned(stepped(scanned, ONE, PAIR)) == []
    assert warned(stepped(swinging, ONE, PAIR, np.linspace(0, 1, 5))) == []
    step = wg.TrainStep(unpacked, ONE, wg.optim.SGD(0.1))
    assert warned(lambda: step.bind(unpacked)(PAIR)) == []
    with pytest.raises(ValueError, match="too many values to unpack"):
        step(np.ones(3))


def test_a_square_matrix_is_no_batch():
    assert warned(stepped(traced, ONE, np.eye(3))) == []
    (said,) = warned(stepped(traced, ONE, np.ones((4, 3))))
    assert said.category is SizeWarning


def test_sizes_that_were_asked_for_and_cannot_be_open_are_told():
    (said,) = warned(stepped(unpacked, ONE, PAIR, dims={"x0": {0: wg.Dim("n")}}))
    assert "dims={'x0': {0: n}} was given" in str(said.message)
    assert "that is unpacked into names" in str(said.message)


def test_arguments_without_an_open_axis_are_named_in_dims():
    def total(p, x0):
        return p * sum(x0)

    (said,) = warned(stepped(total, ONE, PAIR))
    assert str(said.message).endswith("If 'x0' is no batch, dims={'x0': {}} says so.")
    assert warned(stepped(total, ONE, PAIR, dims={"x0": {}})) == []
    tree = {"a": PAIR, "b": np.ones(4)}
    for name in ("x0", "x0.a"):
        of_tree = stepped(lambda p, x0: p * sum(x0["a"]), ONE, tree, dims={name: {}})
        assert warned(of_tree) == []
    step = wg.TrainStep(total, ONE, wg.optim.SGD(0.1), dims={"x0": {}})
    assert warned(lambda: step.bind(total, dims={"x0": {}})(np.ones(4))) == []
    with pytest.raises(ShapeError, match="dims names x1; the batch arguments are x0"):
        stepped(total, ONE, PAIR, dims={"x1": {}})()


def test_a_size_of_several_arguments_is_a_batch():
    (said,) = warned(stepped(lambda p, x, y: p * sum(x * y), ONE, PAIR, PAIR))
    assert "dims" not in str(said.message)
