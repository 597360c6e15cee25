"""What kinds of arrays a step takes: those with masks are refused, other subclasses are arrays."""

import numpy as np
import pytest

import wengert as wg

X = np.arange(12.0).reshape(4, 3)
MASKED = np.ma.masked_array(X, mask=X > 10)
W = np.ma.masked_array(np.ones(3), mask=[True, False, False])


def loss(w, x):
    return wg.mean((x @ w) ** 2)


def carrying(w, state, x):
    return wg.mean((x @ w) ** 2) + wg.sum(state["s"]), {"s": state["s"] + 1}


def make(model=None, **options):
    return wg.TrainStep(loss, np.ones(3) if model is None else model, wg.optim.SGD(0.1), **options)


def carried(state=None):
    given = {"s": np.ones(3)} if state is None else state
    return wg.TrainStep(carrying, np.ones(3), wg.optim.SGD(0.1), state=given)


def with_calls(step, *batches):
    for batch in batches:
        step(batch)
    return step


def loaded():
    step = make()
    state = step.state_dict()
    state["arrays"]["model"][""] = W
    step.load_state_dict(state)


REFUSED = {
    "first call": lambda: make()(MASKED),
    "later call": lambda: with_calls(make(), X, X, MASKED),
    "a tree": lambda: wg.TrainStep(lambda w, b: loss(w, b["x"][0]), np.ones(3), wg.optim.SGD(0.1))(
        {"x": [MASKED]}
    ),
    "eager": lambda: make(compiled=False)(MASKED),
    "check": lambda: make().check(MASKED),
    "run": lambda: make().run(MASKED, batch_size=2),
    "run, a row that comes later": lambda: make().run(MASKED, batch_size=1, shuffle_seed=0),
    "epochs": lambda: next(iter(make().epochs({"x": MASKED}["x"], batch_size=2))),
    "evaluate": lambda: make().evaluate(loss, MASKED, batch_size=2),
    "bind": lambda: make().bind(lambda w, x: x @ w)(MASKED),
    "bind, later": lambda: with_calls(make().bind(lambda w, x: x @ w), X, X, MASKED),
    "bind, eager": lambda: make(compiled=False).bind(lambda w, x: x @ w)(MASKED),
    "model": lambda: make(W),
    "model in a tree": lambda: wg.TrainStep(lambda m, x: loss(m["w"], x), {"w": W}, wg.optim.SGD()),
    "frozen": lambda: wg.TrainStep(
        lambda m, x: loss(m["w"], x), {"w": np.ones(3), "v": W}, {"v": None, "*": wg.optim.SGD()}
    ),
    "data": lambda: wg.TrainStep(
        lambda m, x: loss(m["w"], x), {"w": np.ones(3), "i": W.astype(int)}, wg.optim.SGD()
    ),
    "assigned model": lambda: setattr(make(), "model", W),
    "state": lambda: carried({"s": W}),
    "assigned state": lambda: setattr(carried(), "state", {"s": W}),
    "loaded": loaded,
}


@pytest.mark.parametrize("name", REFUSED)
def test_masked_elements_are_refused(name):
    with pytest.raises(TypeError, match=r"^TrainStep.*: argument '.*' has masked elements; "):
        REFUSED[name]()


def test_a_refused_batch_changes_nothing():
    step = with_calls(make(), X)
    before = step.fingerprint()
    for use in (step, lambda x: step.run(x, batch_size=2), lambda x: setattr(step, "model", W)):
        with pytest.raises(TypeError, match="masked"):
            use(MASKED)
    assert step.fingerprint() == before


def on_disk(folder):
    made = np.memmap(folder / "x", X.dtype, "w+", shape=X.shape)
    made[...] = X
    return np.memmap(folder / "x", X.dtype, "r", shape=X.shape)


class Subclass(np.ndarray):
    pass


KINDS = {
    "memmap": on_disk,
    "recarray": lambda _: X.view(np.recarray),
    "subclass": lambda _: X.view(Subclass),
    "nothing masked": lambda _: np.ma.masked_array(X),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compiled", [True, False])
def test_other_subclasses_are_arrays(kind, compiled, tmp_path):
    x = KINDS[kind](tmp_path)
    one, two = make(compiled=compiled), make(compiled=compiled)
    for _ in range(3):
        assert one(x) == two(X)
    one.run(x, batch_size=2, epochs=2, shuffle_seed=0)
    two.run(X, batch_size=2, epochs=2, shuffle_seed=0)
    assert one.evaluate(loss, x, batch_size=2) == two.evaluate(loss, X, batch_size=2)
    np.testing.assert_array_equal(one.bind(lambda w, x: x @ w)(x), two.bind(lambda w, x: x @ w)(X))
    assert one.fingerprint() == two.fingerprint()


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_matrices_are_refused():
    """Their products are not those of arrays."""
    step, matrix = make(), np.matrix(X)
    before = step.fingerprint()
    for call in (
        lambda: step(matrix),
        lambda: step.run(matrix, batch_size=2),
        lambda: wg.TrainStep(loss, matrix, wg.optim.SGD(0.1)),
    ):
        with pytest.raises(TypeError, match=r"is an np\.matrix"):
            call()
    assert step.fingerprint() == before


@pytest.mark.parametrize("kind", KINDS)
def test_other_subclasses_are_models(kind, tmp_path):
    def total(m, x):
        return wg.mean(m * x)

    model = KINDS[kind](tmp_path)
    one, two = (wg.TrainStep(total, m, wg.optim.SGD(0.1)) for m in (model, X))
    assert one(X) == two(X)
    one.model, two.model = model, X
    assert type(one.model) is np.ndarray
    assert one(X) == two(X)
    assert one.fingerprint() == two.fingerprint()
