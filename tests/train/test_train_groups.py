"""Which parameters are trained by what: globs, frozen groups, ties, data."""

import copy

import numpy as np
import pytest

import wengert as wg
from train.models import by_hand, data, distance, net, squared_error


def test_the_first_glob_that_matches_wins():
    x, y = data()
    model = net((3, 4, 4, 2))
    optimizer = {"layers.0.*": None, "*.b": wg.optim.SGD(1e-3), "*": wg.optim.Adam(3e-4)}
    step = wg.TrainStep(squared_error, model, optimizer)
    for _ in range(5):
        step(x, y)
    expected = wg.tree.copy(model)
    slow, adam = wg.optim.SGD(1e-3), wg.optim.Adam(3e-4)
    for _ in range(5):
        gradient = wg.grad(squared_error)(expected, x, y)
        for i in (1, 2):
            slow.step(f"{i}.b", expected.layers[i].b, gradient.layers[i].b)
            adam.step(f"{i}.w", expected.layers[i].w, gradient.layers[i].w)
    assert distance(step.model, expected) < 1e-13
    assert distance(step.model.layers[0], model.layers[0]) == 0


def test_frozen_parameters_have_no_gradient_and_no_state():
    step = wg.TrainStep(squared_error, net(), {"*.0.*": None, "*": wg.optim.Adam(0.1)})
    step(*data())
    assert step.gradients.layers[0].w is None
    assert step.gradients.layers[1].w is not None
    assert step.optimizer_states["mean"].layers[0].w is None
    assert "frozen" in repr(step)
    # The norm does not count them.
    gradient = wg.grad(squared_error)(net(), *data())
    norm = np.sqrt(np.sum(gradient.layers[1].w ** 2) + np.sum(gradient.layers[1].b ** 2))
    assert step.last.grad_norm == pytest.approx(norm)


def test_frozen_parameters_are_live_too():
    x, y = data()
    step = wg.TrainStep(squared_error, net(), {"*.0.*": None, "*": wg.optim.SGD(0.0)})
    before = step(x, y)
    step.model.layers[0].w[...] = 0.0
    assert step(x, y) != before


def test_tied_parameters_are_one():
    shared = np.full((2, 2), 0.5)
    model = {"encoder": shared, "decoder": shared, "b": np.zeros(2)}

    def loss(m, x):
        return wg.mean((np.tanh(x @ m["encoder"]) @ m["decoder"].T + m["b"] - x) ** 2)

    x = np.random.default_rng(0).normal(size=(6, 2))
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.1, momentum=0.9))
    assert step.model["encoder"] is step.model["decoder"]
    w, b = {"w": shared.copy()}, np.zeros(2)
    optimizer = wg.optim.SGD(0.1, momentum=0.9)
    for _ in range(4):
        step(x)
        g, gb = wg.grad(
            lambda m, b: loss({"encoder": m["w"], "decoder": m["w"], "b": b}, x), argnums=(0, 1)
        )(w, b)
        optimizer.step("w", w["w"], g["w"])
        optimizer.step("b", b, gb)
    np.testing.assert_allclose(step.model["encoder"], w["w"], rtol=1e-12)
    gradients = step.gradients
    assert gradients["encoder"] is gradients["decoder"]
    assert "tied to decoder" in repr(step)
    copied = wg.tree.copy(step.model)
    assert copied["encoder"] is copied["decoder"]


def test_a_tied_parameter_is_matched_by_any_of_its_paths():
    shared = np.array([1.0, 2.0])
    model = {"a": shared, "b": shared, "c": np.ones(2)}
    step = wg.TrainStep(
        lambda m, x: wg.sum(m["a"] * x) + wg.sum(m["c"]), model, {"b": None, "*": wg.optim.SGD(1.0)}
    )
    step(np.ones(2))
    np.testing.assert_array_equal(step.model["a"], [1.0, 2.0])
    np.testing.assert_array_equal(step.model["c"], [0.0, 0.0])


def test_integers_and_bools_are_data():
    model = {"w": np.ones(3), "index": np.array([2, 0]), "mask": np.array([True, False])}

    def loss(m, x):
        return wg.sum(wg.take(m["w"], m["index"]) * x * m["mask"])

    step = wg.TrainStep(loss, model, wg.optim.SGD(0.5))
    step(np.ones(2))
    np.testing.assert_array_equal(step.model["w"], [1.0, 1.0, 0.5])
    np.testing.assert_array_equal(step.model["index"], [2, 0])
    assert step.gradients["index"] is None
    step.model["index"][0] = 1  # live, like all of it
    step(np.ones(2))
    np.testing.assert_array_equal(step.model["w"], [1.0, 0.5, 0.5])


def test_a_bare_array_and_a_scalar_are_models():
    step = wg.TrainStep(lambda t, x: wg.exp(t) * wg.mean(x), np.array(0.0), wg.optim.SGD(0.1))
    step(np.ones(3))
    assert step.model.shape == ()
    assert float(step.model) == pytest.approx(-0.1)


def test_unreached_parameters():
    model = {"used": np.ones(2), "unused": np.ones(3)}

    def loss(m, x):
        return wg.sum(m["used"] * x)

    step = wg.TrainStep(loss, model, wg.optim.SGD(0.1))
    step(np.ones(2))
    np.testing.assert_array_equal(step.gradients["unused"], np.zeros(3))
    assert "no gradient reaches it" in repr(step)
    strict = wg.TrainStep(loss, model, wg.optim.SGD(0.1), strict=True)
    with pytest.raises(wg.errors.MissingGradient, match="'unused'"):
        strict(np.ones(2))
    frozen = wg.TrainStep(loss, model, {"unused": None, "*": wg.optim.SGD(0.1)}, strict=True)
    frozen(np.ones(2))


def test_the_optimizer_is_a_copy_and_acts_on_the_next_call():
    x, y = data()
    given = wg.optim.SGD(0.1)
    step = wg.TrainStep(squared_error, net(), given)
    step(x, y)
    given.learning_rate = 7.0
    with pytest.warns(wg.errors.CopiedWarning, match=r"Set step\.optimizer\.lr = 7\.0"):
        step(x, y)
    assert step.last.learning_rate == 0.1
    step.optimizer.learning_rate = 0.0
    before = wg.tree.copy(step.model)
    step(x, y)
    assert step.last.learning_rate == 0.0
    assert distance(step.model, before) == 0


def test_settings_of_a_wrapped_optimizer_act_on_the_next_call():
    step = wg.TrainStep(
        lambda w, x: wg.sum(w * x), np.zeros(2), wg.optim.Lookahead(wg.optim.SGD(1.0), k=100)
    )
    x = np.ones(2)
    step(x)
    step.optimizer.optimizer.learning_rate = 0.5
    step(x)
    np.testing.assert_array_equal(step.model, [-1.5, -1.5])


def test_several_learning_rates():
    optimizer = {"*.w": wg.optim.SGD(0.1), "*": wg.optim.SGD(0.2)}
    step = wg.TrainStep(squared_error, net(), optimizer)
    step(*data())
    assert step.last.learning_rate == {"*.w": 0.1, "*": 0.2}
    step.optimizer["*"].learning_rate = 0.3
    history = step.run(*data(), batch_size=4)
    np.testing.assert_array_equal(history.learning_rate["*"], [0.3, 0.3])


def test_an_average_of_the_weights():
    x, y = data()
    step = wg.TrainStep(squared_error, net(), wg.optim.EMA(wg.optim.SGD(0.1), decay=0.5))
    average = net()
    for _ in range(3):
        step(x, y)
        average = wg.tree.map(lambda a, w: 0.5 * a + 0.5 * w, average, step.model)
    assert distance(step.optimizer_states["average"], average) < 1e-14


def test_groups_of_several_dtypes():
    model = {"a": np.ones(2, np.float32), "b": np.ones(3), "c": np.ones(4, np.float32)}

    def loss(m):
        return sum(wg.sum(x) for x in m.values())

    optimizers = {"b": wg.optim.SGD(0.5), "*": wg.optim.SGD(0.25)}
    step = wg.TrainStep(loss, model, optimizers, cast=False)
    step()
    expected = {"a": 0.75, "b": 0.5, "c": 0.75}
    for name, value in expected.items():
        np.testing.assert_array_equal(step.model[name], np.full_like(model[name], value))


def test_one_loop_by_hand_for_two_optimizers():
    """A dict with one glob is the optimizer itself."""
    batches = [data(seed=s) for s in range(3)]
    _, expected = by_hand(squared_error, net(), wg.optim.Adam(0.1), batches)
    step = wg.TrainStep(squared_error, net(), {"*": wg.optim.Adam(0.1)})
    for batch in batches:
        step(*batch)
    assert distance(step.model, expected) < 1e-12


@pytest.mark.parametrize("optimizer", [None, wg.optim.SGD(0.1)])
def test_a_glob_that_matches_nothing_is_refused_with_the_nearest_path(optimizer):
    """Else a typing mistake would train what was to be frozen."""
    with pytest.raises(wg.errors.OptimError, match=r"'layer\.0\.\*' .* nearest is 'layers\.0\.w'"):
        wg.TrainStep(squared_error, net(), {"layer.0.*": optimizer, "*": wg.optim.SGD(0.1)})


def test_a_glob_that_others_leave_nothing_for_is_a_warning():
    given = {"*": wg.optim.SGD(0.1), "layers.0.*": None}
    with pytest.warns(wg.errors.GroupWarning, match=r"'layers\.0\.\*' takes no parameter") as found:
        wg.TrainStep(squared_error, net(), given)
    assert [each.filename for each in found] == [__file__]


def test_a_last_glob_for_all_the_rest_may_find_none():
    given = {"*.w": wg.optim.SGD(0.1), "*.b": None, "*": wg.optim.SGD(0.1)}
    wg.TrainStep(squared_error, net(), given)


def test_a_glob_may_match_data_alone():
    model = {"w": np.ones(2), "ids": np.arange(2)}
    wg.TrainStep(lambda m: wg.sum(m["w"]), model, {"ids": None, "*": wg.optim.SGD(0.1)})


@pytest.mark.parametrize("kind", [wg.optim.Lars, wg.optim.Lamb])
@pytest.mark.parametrize("wrap", [lambda o: o, wg.optim.Lookahead, wg.optim.EMA])
@pytest.mark.parametrize("exclude", ["*.bias", ["*.b", "*.bias"]])
def test_what_an_optimizer_excludes_must_be_there(kind, wrap, exclude):
    optimizer = wrap(kind(0.1, exclude=exclude))
    with pytest.raises(wg.errors.OptimError, match=r"exclude='\*\.bias' .* nearest is 'layers\."):
        wg.TrainStep(squared_error, net(), optimizer)
    with pytest.raises(wg.errors.OptimError, match=r"exclude='\*\.bias' .* nearest is 'layers\."):
        optimizer.init(net())
    wg.TrainStep(squared_error, net(), wrap(kind(0.1, exclude=["*.b", "layers.0.*"])))


def test_the_dict_of_optimizers_is_read_only():
    step = wg.TrainStep(lambda w, x: wg.mean(x @ w), np.ones(2), {"*": wg.optim.SGD(0.1)})
    before = dict(step.optimizer)
    changes = [
        lambda found: found.__setitem__("*", None),
        lambda found: found.__delitem__("*"),
        lambda found: found.__ior__({"*": None}),
        lambda found: found.update({"*": None}),
        lambda found: found.setdefault("b", None),
        lambda found: found.pop("*"),
        lambda found: found.popitem(),
        lambda found: found.clear(),
    ]
    for change in changes:
        found = step.optimizer
        with pytest.raises(TypeError, match=r"step.optimizer\['\*'\].learning_rate"):
            change(found)
        assert found == step.optimizer == before
    copied = copy.deepcopy(step.optimizer)
    copied["*"] = None  # it is nobody's
    assert step.optimizer == before


def test_a_glob_that_is_a_path_takes_that_one():
    model = {"a[0]": np.ones(2), "a0": np.ones(2), "b": np.ones(2)}
    loss = lambda m, x: wg.sum(x * m["a[0]"] * m["a0"] * m["b"])  # noqa: E731
    step = wg.TrainStep(loss, model, {"a[0]": None, "*": wg.optim.SGD(0.1)})
    step(np.ones(2))
    assert step.gradients["a[0]"] is None
    assert np.all(step.model["a[0]"] == 1)
    assert np.all(step.model["a0"] < 1)
    rows = [line.split() for line in str(step).splitlines()]
    assert [row[-1] for row in rows if row[0] in ("a0", "b")] == ["'*'", "'*'"]
    assert next(row for row in rows if row[0] == "a[0]")[-2:] == ["'a[0]'", "frozen"]
    excluded = wg.optim.Lars(0.1, exclude="a[0]")
    assert wg.TrainStep(loss, model, excluded)(np.ones(2)) == 2.0


def test_the_groups_are_shown_where_there_are_several():
    step = wg.TrainStep(lambda m, x: wg.sum(m["w"] * x), {"w": np.ones(2)}, wg.optim.SGD(0.1))
    assert "'*'" not in str(step)


@pytest.mark.parametrize("wrap", [lambda optimizer: optimizer, wg.optim.EMA])
def test_decay_of_a_parameter_that_no_gradient_reaches_is_told(wrap):
    model = {"used": np.ones(2), "idle": np.ones(2)}
    step = wg.TrainStep(lambda m, x: wg.sum(x * m["used"]), model, wrap(wg.optim.AdamW(0.1)))
    with pytest.warns(wg.errors.UnreachedWarning, match=r"reaches 'idle', and weight_decay=0\.01"):
        step(np.ones(2))
    assert np.all(step.model["idle"] < 1)  # it is no false alarm


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "optimizer",
    [
        wg.optim.Adam(0.1),
        wg.optim.Lars(0.1, weight_decay=0.1, exclude="idle"),
        {"idle": None, "*": wg.optim.AdamW(0.1)},
    ],
)
def test_where_nothing_decays_there_is_no_reason_to_warn(optimizer):
    model = {"used": np.ones(2), "idle": np.ones(2)}
    step = wg.TrainStep(lambda m, x: wg.sum(x * m["used"]), model, optimizer)
    step(np.ones(2))
    assert np.all(step.model["idle"] == 1)


def tied_step(optimizer, **others):
    weight = np.ones(2)
    model = {"emb": {"w": weight}, "head": {"w": weight}, **others}
    return wg.TrainStep(lambda m: wg.sum(m["emb"]["w"] * m["head"]["w"]), model, optimizer)


def test_a_glob_that_another_takes_all_from_by_a_tie_is_told_so():
    groups = {"emb.*": wg.optim.SGD(0.1), "head.*": wg.optim.Adam(0.1), "*": wg.optim.Adam(0.1)}
    told = r"'head\.\*' takes no parameter; .* 'head\.w' is tied to 'emb\.w': .* 'emb\.\*' takes"
    with pytest.warns(wg.errors.GroupWarning, match=told):
        tied_step(groups)
    told = r"every parameter is frozen; .* 'head\.w' is tied to 'emb\.w'"
    with pytest.raises(wg.errors.OptimError, match=told):
        tied_step({"emb.*": None, "*": wg.optim.SGD(0.1)})


@pytest.mark.parametrize("name", ["learning_rate", "lr", "foo"])
def test_a_dict_of_optimizers_has_no_settings_of_its_own(name):
    groups = {"emb.*": None, "*": wg.optim.SGD(0.1)}
    step = tied_step(groups, rest=np.ones(2))
    with pytest.raises(AttributeError, match=rf"Write step\.optimizer\['\*'\]\.{name} = …"):
        setattr(step.optimizer, name, 0.0)
    step.optimizer["*"].learning_rate = 0.5
    assert step.optimizer["*"].learning_rate == 0.5
    assert type(copy.deepcopy(step.optimizer)) is dict


def test_batch_arguments_that_the_loss_does_not_read():
    def loss(w, x, y, weights, more):
        return wg.mean((x @ w - y) ** 2 * more["read"])

    step = wg.TrainStep(loss, np.zeros(2), wg.optim.SGD(0.1))
    assert "not read" not in repr(step)  # nothing is known before the first call
    rows = np.ones(3)
    step(np.ones((3, 2)), rows, rows, {"read": rows, "unread": np.zeros(3)})
    assert repr(step).endswith("\n  not read by the loss: weights, more.unread")


def test_batch_arguments_that_the_loss_reads_for_its_state_or_aux():
    def loss(w, seen, x, y):
        return wg.mean((x @ w) ** 2), seen + wg.sum(y["counted"]), y["shown"]

    step = wg.TrainStep(loss, np.zeros(2), wg.optim.SGD(0.1), state=np.array(0.0), has_aux=True)
    step(np.ones((3, 2)), {"counted": np.ones(3), "shown": np.ones(3)})
    assert "not read" not in repr(step)
