"""State dicts, files and fingerprints: going on with the same bits."""

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import wengert as wg
from train.models import data, distance, net, squared_error
from train.test_train_options import noisy
from train.warned_steps import X, squares, warned

OPTIMIZERS = {
    "adam": lambda: wg.optim.Adam(wg.optim.Cosine(0.1, 30)),
    "lars": lambda: wg.optim.Lars(0.5, momentum=0.9),
    "lookahead": lambda: wg.optim.Lookahead(wg.optim.SGD(0.1, momentum=0.9), k=3),
    "groups": lambda: {"*.0.w": None, "*.b": wg.optim.SGD(0.1), "*": wg.optim.RAdam(0.01)},
}


def make(name="adam", **options):
    return wg.TrainStep(noisy, net(), OPTIMIZERS[name](), **options)


@pytest.mark.parametrize(("name", "after"), [*((name, 3) for name in OPTIMIZERS), ("adam", 4)])
def test_going_on_gives_the_same_bits(name, after, tmp_path):
    x, y = data()
    whole = make(name, accumulate=2)
    for _ in range(8):
        whole(x, y)
    first = make(name, accumulate=2)
    for _ in range(after):
        first(x, y)
    first.save(tmp_path / "step.safetensors")
    from_dict, from_file = make(name, accumulate=2, seed=9), make(name, accumulate=2)
    from_dict.load_state_dict(first.state_dict())
    from_file.load(tmp_path / "step.safetensors")
    for second in (from_dict, from_file):
        assert second.fingerprint() == first.fingerprint()
        for _ in range(8 - after):
            second(x, y)
        assert second.fingerprint() == whole.fingerprint()


def test_going_on_with_runs():
    x, y = data(rows=10)
    options = {"batch_size": 4, "shuffle_seed": 2}
    whole, first, second = make(), make(), make()
    whole.run(x, y, epochs=4, **options)
    first.run(x, y, epochs=2, **options)
    second.load_state_dict(first.state_dict())
    second.run(x, y, epochs=2, **options)
    assert second.fingerprint() == whole.fingerprint()
    assert second.epoch == 4


def test_changed_settings_are_part_of_the_state():
    x, y = data()
    one = wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1))
    one.optimizer.learning_rate = 0.01
    two = wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1))
    two.load_state_dict(one.state_dict())
    one(x, y)
    two(x, y)
    assert two.last.learning_rate == 0.01
    assert one.fingerprint() == two.fingerprint()


@pytest.mark.parametrize("name", ["clip_norm", "clip_value"])
def test_changed_limits_are_part_of_the_state(name, tmp_path):
    x, y = data()
    one, two, three = (
        wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1), **{name: 5.0}) for _ in range(3)
    )
    setattr(one, name, 1e-3)
    one(x, y)
    two.load_state_dict(one.state_dict())
    one.save(tmp_path / "step.safetensors")
    three.load(tmp_path / "step.safetensors")
    one(x, y)
    for other in (two, three):
        other(x, y)
        assert getattr(other, name) == 1e-3
        assert other.fingerprint() == one.fingerprint()


def test_limits_are_settings_and_no_part_of_the_fingerprint():
    one, two = (wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1), clip_norm=1.0) for _ in "12")
    two.clip_norm = 2.0
    two.optimizer.learning_rate = 0.2
    assert one.fingerprint() == two.fingerprint()


@pytest.mark.parametrize("limit", [0.0, -1.0, np.nan, None, "small", np.ones(2)])
def test_a_saved_limit_that_is_none_is_refused(limit):
    step = wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1), clip_norm=1.0)
    state = step.state_dict()
    state["limits"]["clip_norm"] = limit
    with pytest.raises(wg.errors.CheckpointError, match=r"clip_norm=.* a number above 0"):
        step.load_state_dict(state)
    assert step.clip_norm == 1.0


def test_a_plateau_is_part_of_the_state():
    def step():
        return wg.TrainStep(
            squared_error, net(), wg.optim.SGD(wg.optim.ReduceOnPlateau(0.1, patience=0))
        )

    one, two = step(), step()
    x, y = data()
    one(x, y)
    for metric in (1.0, 2.0):
        one.optimizer.lr.observe(metric)
    two.load_state_dict(one.state_dict())
    for each in (one, two):
        each(x, y)
        assert each.last.learning_rate == pytest.approx(0.01)


def test_a_state_dict_is_a_copy():
    x, y = data()
    step = make()
    state = step.state_dict()
    before = step.fingerprint()
    step(x, y)
    assert step.fingerprint() != before
    step.load_state_dict(state)
    assert step.fingerprint() == before


def test_carried_state_is_saved():
    def loss(w, state, x):
        return wg.sum(w * x * state["n"]), {"n": state["n"] + 1}

    def make():
        return wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.1), state={"n": np.array(1.0)})

    one, two = make(), make()
    one(np.ones(2))
    assert one.fingerprint() != two.fingerprint()
    two.load_state_dict(one.state_dict())
    assert two.state["n"] == 2.0
    assert one.fingerprint() == two.fingerprint()


@pytest.mark.parametrize(
    "change",
    [
        lambda step: step.model.layers[0].w.__setitem__((0, 0), 9.0),
        lambda step: step.optimizer_states["mean"].layers[0].w.__setitem__((0, 0), 9.0),
        lambda step: step(*data()),
    ],
)
def test_fingerprints_notice_changes(change):
    one, two = make(), make()
    assert one.fingerprint() == two.fingerprint()
    change(one)
    assert one.fingerprint() != two.fingerprint()


def test_fingerprints_take_all_nans_for_one():
    one, two = make(), make()
    payload = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    one.model.layers[0].w[0, 0] = np.nan
    two.model.layers[0].w[0, 0] = payload
    assert one.fingerprint() == two.fingerprint()
    two.model.layers[0].w[0, 0] = np.inf
    assert one.fingerprint() != two.fingerprint()


def test_skipped_calls_and_seeds_count():
    x, y = data()
    bad = np.full_like(x, np.nan)
    one, two = make(nonfinite="skip"), make(nonfinite="skip")
    one(bad, y)
    assert one.fingerprint() != two.fingerprint()  # the next random numbers are others
    assert make(seed=1).fingerprint() != make(seed=2).fingerprint()


def test_tied_parameters_stay_tied(tmp_path):
    shared = np.array([1.0, 2.0])
    model = {"a": shared, "b": shared}

    def make():
        return wg.TrainStep(lambda m, x: wg.sum(m["a"] * m["b"] * x), model, wg.optim.SGD(0.1))

    one, two = make(), make()
    one(np.ones(2))
    one.save(tmp_path / "tied.safetensors")
    two.load(tmp_path / "tied.safetensors")
    assert two.model["a"] is two.model["b"]
    assert distance(one.model, two.model) == 0


REFUSED = {
    "another model": lambda: wg.TrainStep(squared_error, net((3, 6, 2)), wg.optim.Adam(0.1)),
    "more layers": lambda: wg.TrainStep(squared_error, net((3, 5, 5, 2)), wg.optim.Adam(0.1)),
    "another dtype": lambda: wg.TrainStep(squared_error, net(dtype=np.float32), wg.optim.Adam(0.1)),
    "another optimizer": lambda: wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1)),
    "accumulation": lambda: wg.TrainStep(squared_error, net(), wg.optim.Adam(0.1), accumulate=2),
    "another rule": lambda: wg.TrainStep(squared_error, net(), wg.optim.AdamW(0.1)),
    "a schedule": lambda: wg.TrainStep(squared_error, net(), wg.optim.Adam(lambda index: 0.1)),
    "clipping": lambda: wg.TrainStep(squared_error, net(), wg.optim.Adam(0.1), clip_norm=1.0),
}


@pytest.mark.parametrize("other", REFUSED)
def test_the_state_of_another_step_is_refused(other):
    step = wg.TrainStep(squared_error, net(), wg.optim.Adam(0.1))
    step(*data())
    before = step.fingerprint()
    with pytest.raises(wg.errors.CheckpointError, match=r"TrainStep\.load_state_dict: "):
        step.load_state_dict(REFUSED[other]().state_dict())
    assert step.fingerprint() == before


def lars(**options):
    return {"*.b": wg.optim.SGD(0.1), "*": wg.optim.Lars(0.1, 0.9, **options)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lars(), lars(nesterov=True)),
        (lars(exclude="*.0.*"), lars()),
        (lars(), lars(variant="optax")),
        (wg.optim.SGD(wg.optim.Cosine(0.1, 9)), wg.optim.SGD(0.1)),
        (wg.optim.SGD(0.1), wg.optim.SGD(wg.optim.Cosine(0.1, 9))),
        (wg.optim.SGD(wg.optim.Constant(0.1)), wg.optim.SGD(wg.optim.Cosine(0.1, 9))),
        (wg.optim.EMA(wg.optim.Adam()), wg.optim.EMA(wg.optim.AdamW())),
    ],
)
def test_the_state_of_another_rule_is_refused(one, other):
    x, y = data()
    source, step, twin = (wg.TrainStep(squared_error, net(), each) for each in (one, other, other))
    for each in (source, step, twin):
        each(x, y)
    with pytest.raises(wg.errors.CheckpointError, match=r"the settings of .* cannot be loaded"):
        step.load_state_dict(source.state_dict())
    assert step(x, y) == twin(x, y)
    assert step.fingerprint() == twin.fingerprint()
    assert repr(step.optimizer) == repr(twin.optimizer)


@pytest.mark.parametrize("given", [None, {}, {"arrays": {}}, 3])
def test_what_is_no_state_is_refused(given):
    with pytest.raises(wg.errors.CheckpointError, match=r"TrainStep\.load_state_dict: "):
        make().load_state_dict(given)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_step_cannot_be_copied(copied):
    step = make()
    step(*data())
    for given in (step, {"step": step}):
        if copied is copy.copy and given is not step:
            continue  # of a dict, nothing but the dict is copied
        with pytest.raises(
            TypeError, match=r"^TrainStep: cannot be copied or pickled; .*state_dict"
        ):
            copied(given)


def test_two_arrays_at_one_path_are_refused():
    def make(model, state=None):
        return wg.TrainStep(lambda m, *rest: 0.0, model, wg.optim.SGD(0.1), state=state)

    x, y = np.ones(2), np.full(2, 5.0)
    twice = [{"a.b": x, "a": {"b": y}}, {"0": x, 0: y}, {"a.b": x, "a": {"b": np.arange(2)}}]
    for tree in twice:
        with pytest.raises(
            wg.errors.OptimError, match=r"^TrainStep: the path .* was given twice; "
        ):
            make(tree)
        with pytest.raises(
            wg.errors.OptimError, match=r"^TrainStep: the path .* was given twice; "
        ):
            make(x, state=tree)
    tied = make({"a.b": x, "a": {"b": x}, "c": y})  # one array, and so one parameter
    assert list(tied.state_dict()["arrays"]["model"]) == ["a.b", "c"]


def test_the_optimizer_of_a_step_does_not_pretend_to_hold_its_moments():
    step = wg.TrainStep(lambda w, x: wg.sum(w * x), np.ones(2), wg.optim.Adam(0.1))
    step(np.ones(2))
    for use in (
        lambda: step.optimizer.state_dict(),
        lambda: step.optimizer.load_state_dict(wg.optim.Adam(0.1).state_dict()),
    ):
        with pytest.raises(wg.errors.OptimError, match=r"of a TrainStep; .*step\.state_dict\(\)"):
            use()
    with pytest.raises(wg.errors.OptimError, match=r"of a TrainStep; .*Make a new step"):
        step.optimizer.clear_state()
    own = step.optimizer.copy()  # no longer the step's
    own.clear_state()
    own.load_state_dict(own.state_dict())
    step.load_state_dict(step.state_dict())
    with pytest.raises(wg.errors.OptimError, match="of a TrainStep"):
        step.optimizer.state_dict()  # loading made it no other


def test_files_of_models_and_of_steps_are_told_apart(tmp_path):
    weights, whole = tmp_path / "weights", tmp_path / "whole"
    step = wg.TrainStep(squared_error, net(), wg.optim.Adam(0.1))
    before = step.fingerprint()
    wg.save(weights, step.model)
    step.save(whole)
    repair = r"step\.model = wg\.load\(path, like=step\.model\)"
    for given in (wg.load(weights), step.model):
        with pytest.raises(wg.errors.CheckpointError, match=repair):
            step.load_state_dict(given)
    with pytest.raises(wg.errors.CheckpointError, match=repair):
        step.load(weights)
    with pytest.raises(wg.errors.ShapeError, match=repair):
        step.model = wg.load(weights)
    with pytest.raises(wg.errors.CheckpointError, match=r"step\.save wrote.*step\.load\("):
        wg.load(whole, like=step.model)
    with pytest.raises(wg.errors.CheckpointError, match=r"is a TrainStep.*like=step\.model"):
        wg.load(weights, like=step)
    assert step.fingerprint() == before
    # What is as it should be is read.
    step.load(whole)
    _ = wg.load(whole, like=step.state_dict())
    step.model = wg.load(weights, like=step.model)
    assert step.fingerprint() == before


def test_the_file_of_a_model_that_is_one_array(tmp_path):
    step = wg.TrainStep(lambda w, x: wg.mean((x @ w) ** 2), np.ones(2), wg.optim.SGD(0.1))
    wg.save(tmp_path / "weights", step.model)
    repair = r"given a model; .*step\.model = wg\.load\(path, like=step\.model\)"
    with pytest.raises(wg.errors.CheckpointError, match=repair):
        step.load(tmp_path / "weights")
    with pytest.raises(wg.errors.CheckpointError, match=repair):
        step.load_state_dict(step.model)
    step.save(tmp_path / "whole")
    step.load(tmp_path / "whole")


def test_a_model_with_a_function_is_no_state(tmp_path):
    model = wg.nn.Sequential(wg.nn.Linear(2, 2), "relu")
    step = wg.TrainStep(lambda m, x: wg.mean(m(x)), model, wg.optim.SGD(0.1))
    wg.save(tmp_path / "weights", step.model)
    with pytest.raises(wg.errors.CheckpointError, match=r"given a model; .*like=step\.model"):
        step.load(tmp_path / "weights")


def test_a_model_that_cannot_be_shown_without_arrays_is_named():
    @dataclass
    class Sized:
        w: object

        def __repr__(self):
            return f"Sized({self.w.shape})"

    step = wg.TrainStep(lambda m, x: wg.sum(m.w * x), Sized(np.ones(2)), wg.optim.SGD(0.1))
    with pytest.raises(wg.errors.ShapeError, match="Sized") as caught:
        step.model = {"w": np.ones(2)}
    assert "0x" not in str(caught.value)


def test_bound_functions_that_draw_go_on_where_they_were(tmp_path):
    def made():
        return wg.TrainStep(lambda w, x: wg.sum(w * x), np.ones(2), wg.optim.SGD(0.1), seed=3)

    def draw(w, rng):
        return rng.normal((4,)) + wg.sum(w)

    step = made()
    assert "draws" not in step.state_dict()
    first, second = step.bind(draw), step.bind(draw)
    drawn = [first(), first(), second()]
    step.save(tmp_path / "step")
    drawn += [first(), second()]
    before, after = made(), made()
    early = before.bind(draw), before.bind(draw)
    early[1](), early[1]()
    for again in (before, after):
        again.load(tmp_path / "step")
        bound = early if again is before else (again.bind(draw), again.bind(draw))
        np.testing.assert_array_equal([bound[0](), bound[1]()], drawn[3:])
    # Loaded from a step that has bound nothing, they go on as they were.
    before.load_state_dict(made().state_dict())
    assert before.state_dict()["draws"] == {"0": 3, "1": 2}
    for wrong in ({"0": -1}, {"name": 1}, 3):
        with pytest.raises(wg.errors.CheckpointError, match="draws"):
            before.load_state_dict(step.state_dict() | {"draws": wrong})
    assert before.state_dict()["draws"] == {"0": 3, "1": 2}


def test_the_number_of_calls_is_loaded():
    step, other = (
        wg.TrainStep(lambda w, x: wg.mean((x @ w) ** 2), np.ones(2), wg.optim.SGD(0.1))
        for _ in range(2)
    )
    assert step.calls == 0
    step(np.eye(2))
    step.run(np.eye(2), batch_size=1)
    other.load_state_dict(step.state_dict())
    assert (step.calls, other.calls, other.last) == (3, 3, None)


def test_a_step_that_was_made_with_other_settings_than_the_one_it_goes_on_from():
    def made(lr, decay=0.1):
        return wg.TrainStep(squares, np.ones(3), wg.optim.AdamW(lr, weight_decay=decay))

    def told(step):
        return [str(each.message) for each in warned(lambda: step(X))]

    first = made(0.5)
    first(X)
    state = first.state_dict()
    gentle, thorough, same, other = made(0.25), made(0.25), made(0.5), made(0.25)
    gentle(X)
    for step in (gentle, thorough, same, other):
        assert warned(lambda step=step: step.load_state_dict(state)) == []
    (message,) = told(gentle)
    assert "the state is of a step that was made with AdamW(lr=0.5" in message
    assert "so that it goes on with AdamW(lr=0.5" in message
    assert told(gentle) == []  # once
    thorough.optimizer.lr = 0.25
    other.optimizer.lr = 0.125  # of neither step: what the message says is to be done
    assert told(thorough) == told(same) == told(other) == []
    assert any("weight_decay=0.0" in text for text in told_of_loading(made(0.5, 0.0), state))


def told_of_loading(step, state):
    step.load_state_dict(state)
    return [str(each.message) for each in warned(lambda: step(X))]


def test_settings_that_were_changed_while_training_are_part_of_a_state():
    def made():
        return wg.TrainStep(squares, np.ones(3), wg.optim.SGD(0.5))

    first = made()
    first.optimizer.lr = 0.25  # annealed by hand
    state = first.state_dict()
    again = made()
    assert told_of_loading(again, state) == []
    assert again.optimizer.lr == 0.25
    del state["made"]  # from before there was such a part
    assert told_of_loading(wg.TrainStep(squares, np.ones(3), wg.optim.SGD(0.1)), state) == []
    state["made"] = {"*": 1}
    with pytest.raises(wg.errors.CheckpointError, match="a dictionary of texts is needed"):
        again.load_state_dict(state)
