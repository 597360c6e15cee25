"""What people get wrong in a step, and what it says."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import DTypeError, LiveWarning, OptimError, ShapeError, TraceError

# Models here have numbers that are no parameters, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::wengert.errors.UntrainedWarning")

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


def test_values_beside_the_arrays_of_a_model_cannot_be_assigned():
    model = {"w": np.ones(2), "kind": "sum", "scale": 1.0}
    step = wg.TrainStep(lambda m, x: wg.sum(m["w"] * x) * m["scale"], model, wg.optim.SGD(0.1))
    step.model = {"w": np.zeros(2), "kind": "sum", "scale": 1.0}
    with pytest.raises(
        ShapeError, match=r"assigned a tree with 2\.0 where it has 1\.0; only arrays"
    ):
        step.model = {"w": np.ones(2), "kind": "sum", "scale": 2.0}
    assert np.array_equal(step.model["w"], [0.0, 0.0])


def test_a_model_of_another_form_is_refused_where_the_class_cannot_be_shown():
    step = wg.TrainStep(lambda m, x: wg.mean(m(x)), wg.nn.Mlp((2, 3, 1), seed=0), wg.optim.SGD(0.1))
    with pytest.raises(ShapeError, match="the model was assigned"):
        step.model = {"w": np.ones(2)}


def test_a_shown_tree_is_let_go_with_its_last_holder():
    layers = wg.nn.Sequential(wg.nn.Linear(3, 2, seed=0), "relu", wg.nn.Linear(2, 1, seed=1))
    step = wg.TrainStep(lambda m, x: wg.mean(m(x) ** 2), layers, wg.optim.SGD(0.1))
    trees = step._engine.shown.trees
    for _ in range(3):  # as where it is an argument of another step
        assert step.model is not None
    kept = step.model
    step._engine.shown.look()
    assert len(trees) == 1
    kept = kept.layers[0]  # a part is enough
    step._engine.shown.look()
    assert len(trees) == 1
    del kept
    step._engine.shown.look()
    assert not trees


def test_what_is_put_into_a_shown_tree_is_named():
    def make():
        return wg.TrainStep(
            lambda m, s, x: (wg.sum(m["w"] * x) + s["h"], {"h": s["h"] + 1}),
            {"w": np.ones(2), "scale": 2.0},
            wg.optim.SGD(0.0),
            state={"h": np.zeros(())},
        )

    def change_model(step):
        step.model["w"] = np.zeros(2)

    def change_number(step):
        step.model["scale"] = 3.0

    def add(step):
        step.model["new"] = np.zeros(2)

    def change_state(step):
        step.state["h"] = np.zeros(())

    for change, name in (
        (change_model, "model"),
        (change_number, "model"),
        (add, "model"),
        (change_state, "state"),
    ):
        for look in (
            lambda step: step(np.ones(2)),
            lambda step: step.run(np.ones((4, 2)), batch_size=2),
            lambda step: step.model,
        ):
            step = make()
            step(np.ones(2))
            change(step)
            with pytest.warns(LiveWarning, match=rf"tree that step\.{name} returned"):
                look(step)


def test_a_setting_of_a_shown_tree_is_told_what_works():
    model = wg.nn.Sequential(wg.nn.Linear(3, 1, seed=0), wg.nn.Dropout(0.5))
    step = wg.TrainStep(lambda m, x, rng: wg.mean(m(x, rng)), model, SGD, compiled=False)
    step.model[1].rate = 0.0
    with pytest.warns(LiveWarning, match="a setting .* Pass it as an argument of the loss, or"):
        step(x)


def carrying(**options):
    return wg.TrainStep(
        lambda m, h, x: (wg.sum(m["layers"][0]["w"] * x), {"h": h["h"] + 1.0}),
        {"layers": [{"w": np.ones(2)}]},
        wg.optim.SGD(0.0, momentum=0.5),
        state={"h": np.zeros(())},
        **options,
    )


CHANGES = {
    "model": lambda shown: shown["layers"][0].update(w=np.zeros(2)),
    "state": lambda shown: shown.update(h=np.zeros(())),
    "optimizer_states": lambda shown: shown["momentum"]["layers"][0].update(w=np.zeros(2)),
    "gradients": lambda shown: shown["layers"][0].update(w=np.zeros(2)),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("calls", [1, 7, 200])
def test_a_shown_tree_is_looked_at_for_as_long_as_it_is_held(name, calls):
    step = carrying()
    step(np.ones(2))
    shown = getattr(step, name)
    for _ in range(calls):
        step(np.ones(2))
    CHANGES[name](shown)
    rest = np.ones((1 if calls < 8 else 64, 2))
    with pytest.warns(LiveWarning, match=rf"tree that step\.{name} returned"):
        assert [step(each) for each in rest]


@pytest.mark.filterwarnings("error")
def test_a_part_of_a_shown_tree_is_looked_at_while_the_rest_is_gone():
    step = carrying()
    layer = step.model["layers"][0]
    for _ in range(3):
        step(np.ones(2))
    layer["w"] = np.zeros(2)
    with pytest.raises(LiveWarning, match=r"tree that step\.model returned"):
        step(np.ones(2))
    step(np.ones(2))  # once is enough


@pytest.mark.parametrize(
    "look",
    [
        lambda step: step.bind(lambda m, x: x),
        lambda step: step.evaluate(lambda m, x: wg.mean(x), np.ones((4, 2)), batch_size=2),
        lambda step: step.check(np.ones(2)),
        lambda step: step.fingerprint(),
        lambda step: step.state_dict(),
        lambda step: step.save(os.devnull),
    ],
)
@pytest.mark.filterwarnings("error")
def test_whoever_reads_the_step_looks_at_shown_trees(look):
    step = carrying()
    step(np.ones(2))
    step.model["layers"][0]["w"] = np.zeros(2)
    with pytest.raises(LiveWarning, match=r"tree that step\.model returned"):
        look(step)


@pytest.mark.filterwarnings("error")
def test_bound_functions_look_at_shown_trees():
    step = carrying()
    predict = step.bind(lambda m, x: m["layers"][0]["w"] * x)
    model = step.model
    for _ in range(3):
        predict(np.ones(2))
    model["layers"][0]["w"] = np.zeros(2)
    with pytest.raises(LiveWarning, match=r"tree that step\.model returned"):
        predict(np.ones(2))


def test_shown_trees_that_nobody_holds_are_let_go():
    step = carrying()
    kept = [step.model for _ in range(3)]
    step(np.ones(2))
    trees = step._engine.shown.trees
    assert len(trees) == len(kept)
    del kept
    step(np.ones(2))
    assert not step._engine.shown.trees


@pytest.mark.filterwarnings("error")
def test_a_tree_that_was_assigned_is_looked_at_from_then_on():
    step = carrying()
    model = step.model
    model["layers"][0]["w"] = np.array([1.0, 2.0])
    step.model = model
    assert step(np.ones(2)) == 3.0
    model["layers"][0]["w"] = np.zeros(2)
    with pytest.raises(LiveWarning, match=r"tree that step\.model returned"):
        step(np.ones(2))


@pytest.mark.filterwarnings("error")
def test_shown_trees_may_be_changed_and_assigned():
    step = wg.TrainStep(lambda m, x: wg.sum(m["w"] * x), {"w": np.ones(2)}, wg.optim.SGD(0.0))
    model = step.model
    model["w"] = np.array([1.0, 2.0])
    step.model = model
    assert step(np.ones(2)) == 3.0
    step.model["w"][0] = 5.0
    assert step(np.ones(2)) == 7.0


def test_a_parameter_of_the_loss_with_the_name_of_an_option():
    def loss(w, x, aux):
        return wg.mean((x @ w - aux) ** 2)

    x, y, sgd = np.ones((8, 3)), np.ones(8), wg.optim.SGD(0.1)
    for made in (wg.TrainStep(loss, np.ones(3), sgd), wg.Ensemble(loss, [np.ones(3)] * 2, sgd)):
        with pytest.raises(TypeError, match=r"as aux, which is an option .* in the order x, aux"):
            made.run(x=x, aux=y, batch_size=4)
        with pytest.raises(TypeError, match="given ndarray as aux"):
            made.epochs(x=x, aux=y, batch_size=4)
    wg.TrainStep(loss, np.ones(3), sgd).run(x, y, batch_size=4)


def moving(**options: Any) -> Any:
    return wg.TrainStep(
        lambda w, h, x: (wg.sum((x @ w) ** 2), h + 1.0),
        np.ones(3),
        SGD,
        state=np.zeros(()),
        **options,
    )


@pytest.mark.filterwarnings("error")
def test_one_array_is_changed_by_an_update_in_place():
    step = moving()
    step(np.eye(3))
    length = np.linalg.norm(step.model)
    step.model /= length
    np.testing.assert_allclose(np.linalg.norm(step.model), 1.0)
    step.model *= 2.0
    np.testing.assert_allclose(np.linalg.norm(step.model), 2.0)
    step.state += 5.0
    assert step.state == 6.0
    ensemble = wg.Ensemble(lambda w, x: wg.sum((x @ w) ** 2), [np.ones(3), np.zeros(3)], SGD)
    ensemble.members[0].model *= 0.5
    np.testing.assert_array_equal(ensemble.members[0].model, [0.5] * 3)


@pytest.mark.filterwarnings("error")
def test_one_live_array_that_is_assigned_to_itself_is_told():
    step = moving()
    best, state = step.model, step.state
    step(np.eye(3))
    with pytest.raises(LiveWarning, match="assigning them to themselves changes nothing"):
        step.model = best
    with pytest.raises(LiveWarning, match="assigning them to themselves changes nothing"):
        step.state, step.model = state, np.ones(3)
    with pytest.raises(LiveWarning, match="assigning them to themselves changes nothing"):
        setattr(step, "model", best)  # noqa: B010 - as a program of many names may


@pytest.mark.filterwarnings("error")
def test_a_program_of_many_names_may_update_in_place():
    names = "\n".join(f"name_{i} = {i}" for i in range(300))
    exec(f"{names}\nstep.model *= 0.5", {"step": moving()})
