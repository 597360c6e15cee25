"""Frames of pandas and polars: rows and columns that do not belong together, and those that do."""

import warnings
from itertools import starmap

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ColumnOrderWarning, CopiedWarning, DTypeError, RowOrderWarning

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
rng = np.random.default_rng(0)
N = 40
NUMBERS = rng.normal(size=(N, 3))
X = pd.DataFrame(NUMBERS, columns=list("abc"))
Y = (X.a - X.b).rename("y")
DAYS = pd.date_range("2024", periods=N)
REVERSED = ["c", "b", "a"]


def predict(w, x):
    return x @ w


def loss(w, x, y):
    return wg.mse(predict(w, x), y)


def made(f=loss, w=None):
    return wg.TrainStep(f, np.zeros(3) if w is None else w, wg.optim.SGD(0.0), compiled=False)


@pytest.fixture
def errors():
    """Let all of these warnings be errors."""
    with warnings.catch_warnings():
        for kind in (RowOrderWarning, ColumnOrderWarning, CopiedWarning):
            warnings.simplefilter("error", kind)
        yield


# Columns.

AGAIN = {
    "call": lambda step, x: step(x, Y),
    "by name": lambda step, x: step(x=x, y=Y),
    "run": lambda step, x: step.run(x, Y, batch_size=8),
    "evaluate": lambda step, x: step.evaluate(loss, x, Y, batch_size=8),
    "bind": lambda step, x: step.bind(predict)(x),
    "fit": lambda step, x: wg.train.fit(step, (x, Y), 1, 8, progress=False),
    "validation": lambda step, x: wg.train.fit(
        step, (X, Y), 1, 8, validation=(x, Y), progress=False
    ),
}


@pytest.mark.parametrize("case", AGAIN)
def test_columns_in_another_order_are_told(case):
    step, again = made(), AGAIN[case]
    step(X, Y)
    said = r"of x come in another order.* column 0 is 'c', and was 'a'.* x\[\['a', 'b', 'c'\]\]"
    with pytest.warns(ColumnOrderWarning, match=said):
        again(step, X[REVERSED])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnOrderWarning)
        again(step, X[REVERSED][list("abc")])
        again(step, X[REVERSED].to_numpy())


def test_a_row_with_its_columns_in_another_order_is_told():
    step = made()
    step.run(X, Y, batch_size=8)
    bound, row = step.bind(predict), X.iloc[0]
    said = r"of x come in another order.* column 0 is 'c', and was 'a'.* x\[\['a', 'b', 'c'\]\]"
    with pytest.warns(ColumnOrderWarning, match=said):
        bound(row[REVERSED])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnOrderWarning)
        assert bound(row[REVERSED][list("abc")]) == bound(row) == bound(row.to_numpy())
        bound(row.set_axis(list("cbd")))
        bound(row[REVERSED].to_numpy())


def test_columns_of_polars_in_a_dict():
    frame = pl.DataFrame(NUMBERS, schema=list("abc"))
    step = made(lambda w, d: loss(w, d["x"], d["y"]))
    step.run({"x": frame, "y": Y}, batch_size=8)
    with pytest.warns(ColumnOrderWarning, match=r"columns of d\['x'\] come in another order"):
        step({"x": frame[REVERSED], "y": Y})


@pytest.mark.usefixtures("errors")
def test_columns_that_are_no_reason_to_warn():
    step = made()
    step.bind(predict)(X[REVERSED])  # nothing was trained yet
    step(X, Y)
    step(X.to_numpy(), Y)
    step.bind(predict)(X.rename(columns=str.upper))
    step.bind(lambda w, inputs: inputs @ w)(X[REVERSED])  # another parameter
    step.bind(lambda w, some: some @ w[:2])(X[["b", "a"]])
    step.bind(lambda w, x: x @ w[:2])(X[["b", "a"]])  # other columns
    step(pd.DataFrame(NUMBERS), Y)
    for names in (None, [2, 0, 1]):  # numbers from 0 on name nothing
        step = made()
        step(pd.DataFrame(NUMBERS, columns=names), Y)
        step(pd.DataFrame(NUMBERS)[[2, 1, 0]], Y)
    step = made(lambda w, x, z: wg.mse(x @ w, wg.sum(z, axis=1)))
    step(X, X[REVERSED])  # two arguments


# Rows.

AT_RANDOM = rng.permutation(N)[:30], rng.permutation(N)[:30]
OTHER_ROWS = {
    "another split": (X.iloc[AT_RANDOM[0]], Y.iloc[AT_RANDOM[1]]),
    "two parts": (X[10:20], Y[20:30]),
    "a mask and its opposite": (X[X.a > 0][:12], Y[X.a <= 0][:12]),
    "texts": (X.set_axis(map(str, range(N)))[5:25], Y.set_axis(map(str, range(N)))[:20][::-1]),
    "dates": (X.set_axis(DAYS).iloc[AT_RANDOM[0]], Y.set_axis(DAYS).iloc[AT_RANDOM[1]]),
}


@pytest.mark.parametrize("case", OTHER_ROWS)
def test_different_rows_are_told(case):
    x, y = OTHER_ROWS[case]
    said = r"labels of different rows; .* goes with row .* pass y\.to_numpy\(\)"
    with pytest.warns(RowOrderWarning, match=said):
        made().run(x, y, batch_size=8)
    with pytest.warns(RowOrderWarning, match="fit: validation: the indices of x and y"):
        wg.train.fit(made(), (X, Y), 1, 8, validation=(x, y), progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RowOrderWarning)
        made().run(x, y.to_numpy(), batch_size=8)


def test_rows_of_later_calls_are_looked_at():
    """A loop over parts: the first has labels that only count, or is in order."""
    shuffled, labelled = (
        X.sample(frac=1, random_state=0),
        X.set_axis([f"row {i}" for i in range(N)]),
    )
    step, other, members = made(), made(), wg.Ensemble(loss, [np.zeros(3)], wg.optim.SGD(0.0))
    bound = step.bind(loss)
    for call in (step, bound, members):
        call(X[:10], Y[:10])
        with pytest.warns(RowOrderWarning, match="labels of different rows"):
            call(shuffled[10:20], Y[10:20])
    y = Y.set_axis(labelled.index)
    for _ in range(20):
        other(labelled, y)
    batches = [(labelled[::-1], y)] * 20
    with pytest.warns(RowOrderWarning, match="the same labels in different orders"):
        list(starmap(other, batches))
    with warnings.catch_warnings():  # once for a step
        warnings.simplefilter("error", RowOrderWarning)
        other(labelled[::-1], y)


BY_PERSON = pd.MultiIndex.from_product([range(N // 2), [2023, 2024]], names=["person", "year"])
PANEL_X, PANEL_Y = X.set_axis(BY_PERSON), Y.set_axis(BY_PERSON)
FIRST = BY_PERSON.get_level_values("year") == 2023
LATER = X.set_axis(DAYS + pd.Timedelta(hours=5))
NEXT = rng.permutation(N - 1)
RIGHT_ROWS = {
    "a shift of what counts": (X.iloc[:-1], Y.iloc[1:]),
    "a shift inside": (X.iloc[5:-3], Y.iloc[8:]),
    "a shift of dates": (X.set_axis(DAYS).iloc[:-1], Y.set_axis(DAYS).iloc[1:]),
    "a shift of texts": (X.set_axis(map(str, DAYS))[:-1], Y.set_axis(map(str, DAYS))[1:]),
    "a shift backwards": (X.set_axis(DAYS).iloc[2:], Y.set_axis(DAYS).iloc[:-2]),
    "a shift in groups": (X.drop(range(0, N, 5)), Y.drop(range(4, N, 5))),
    "every second row and the next": (X.iloc[2::2], Y.iloc[3::2]),
    "rows at random and the next": (X.iloc[NEXT], Y.iloc[NEXT + 1]),
    "days at random and the next": (
        X.set_axis(DAYS).iloc[NEXT],
        Y.set_axis(DAYS).iloc[NEXT + 1],
    ),
    "other hours": (LATER, Y.set_axis(DAYS)),
    "two years of a panel": (PANEL_X[FIRST], PANEL_Y[~FIRST]),
    "one only counts": (X.iloc[NEXT], Y.iloc[NEXT].reset_index(drop=True)),
    "another kind": (X.iloc[5:15], Y.set_axis(map(str, range(N)))[20:30]),
    "another name": (X[5:15].rename_axis("user"), Y[20:30].rename_axis("item")),
    "a bootstrap": (X.iloc[[3, 3, 7, 9] * 5], Y.iloc[[8, 8, 1, 2] * 5]),
    "the same sample": (X.iloc[NEXT], Y.iloc[NEXT]),
    "few are different": (X[10:], Y[10:].rename({12: 900})),
}


@pytest.mark.usefixtures("errors")
@pytest.mark.parametrize("case", RIGHT_ROWS)
def test_rows_that_are_no_reason_to_warn(case):
    x, y = RIGHT_ROWS[case]
    made().run(x, y, batch_size=8)
    made()(x, y)
    assert searched(x, y)


@pytest.mark.parametrize(
    "case", sorted(OTHER_ROWS.keys() - {"two parts"})
)  # windows, as in single calls
def test_rows_of_a_search_are_told(case):
    x, y = OTHER_ROWS[case]
    with pytest.warns(RowOrderWarning, match="LBFGS.minimize: the indices of x and y have the"):
        searched(x, y)
    with pytest.warns(RowOrderWarning, match=r"in different orders; .* Write y\.loc\[x\.index\]"):
        searched(X.sample(frac=1, random_state=0), Y.iloc[::-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RowOrderWarning)
        assert searched(x, y.to_numpy())
        assert searched(x, x.sum(axis=1), compiled=False)


def searched(x, y, **options):
    def loss(w, x, y):
        return wg.mse(wg.asarray(x) @ w, wg.asarray(y))

    return wg.optim.LBFGS(max_iter=2).minimize(loss, np.zeros(x.shape[1]), x, y, **options)


@pytest.mark.usefixtures("errors")
def test_two_samples_of_a_table_have_different_rows():
    positive, negative = X[X.a > 0][:12], X[X.a <= 0][:12]
    made(lambda w, p, q: wg.mean(wg.softplus(q @ w - p @ w))).run(positive, negative, batch_size=4)
    y, other = Y[positive.index], Y[negative.index].rename("z")

    def both(w, x, y, x2, y2):
        return loss(w, x, y) + loss(w, x2, y2)

    made(both).run(positive, y, negative, other, batch_size=4)
    made()(X[10:20], Y[20:30])  # in one call, a window and the one behind it


def test_rows_of_frames_in_dicts_are_looked_at():
    labels = [f"row {i}" for i in range(N)]
    d = {"x": X.set_axis(labels), "rest": [Y.set_axis(labels)[::-1]]}

    def of_dict(w, d):
        return loss(w, d["x"], d["rest"][0])

    step = made(of_dict)
    said = (
        r"of d\['x'\] and d\['rest'\]\[0\] have the same.*d\['rest'\]\[0\]\.loc\[d\['x'\]\.index\]"
    )
    for call in (
        lambda: step(d),
        lambda: step.run(d, batch_size=8),
        lambda: step.evaluate(of_dict, d, batch_size=8),
    ):
        with pytest.warns(RowOrderWarning, match=said):
            call()


# Numbers of a frame.


def changed(x, change, epochs=4):
    step, seen = made(w=np.ones(3)), []
    for epoch in step.epochs(x, Y, batch_size=8, epochs=epochs):
        seen.append(epoch.loss)
        change(x)
    return seen


def set_to_0(x):
    x.loc[:, :] = 0


def with_whole_numbers():
    return X.assign(a=X.a.round().astype(int))


def test_a_frame_that_is_changed_between_epochs_is_told():
    with pytest.warns(CopiedWarning, match="epochs: x was changed between two epochs") as caught:
        changed(with_whole_numbers(), set_to_0)
    assert len(caught) == 1

    def assign(x):
        x["a"] = 0.0

    with pytest.warns(CopiedWarning, match=r"x\.to_numpy\(copy=True\)"):
        changed(X.copy(), assign)
    x = with_whole_numbers()
    with pytest.warns(CopiedWarning, match="fit: x was changed"):
        wg.train.fit(made(), (x, Y), 3, 8, callbacks=lambda _: set_to_0(x), progress=False)


@pytest.mark.usefixtures("errors")
def test_frames_that_are_read_as_they_are_now():
    first, *rest = changed(X.copy(), set_to_0)
    if rest[0] != first:  # pandas lets NumPy see what it writes
        assert rest[0] == pytest.approx(float(np.mean(Y**2)))

    def add(x):
        x["prediction"] = 1.0

    changed(with_whole_numbers(), add)
    changed(with_whole_numbers(), lambda x: None)
    step = made(lambda w, x: wg.mean(np.nan_to_num(x) @ w))
    list(step.epochs(with_whole_numbers().where(X > 0), batch_size=8, epochs=3))


# Kinds of columns.

MIXED = {
    "dummies": pd.get_dummies(pd.DataFrame({"a": X.a, "b": np.where(X.b > 0, "u", "v")})),
    "integers, floats, bools": pd.DataFrame({"a": range(N), "b": X.b, "c": X.c > 0}),
    "nullable": X.assign(a=pd.array(range(N), dtype="Int64"), c=(X.c > 0).astype("boolean")),
    "one name twice": pd.concat([X.a, X.b > 0, X.b], axis=1).set_axis(["a", "b", "b"], axis=1),
}


@pytest.mark.usefixtures("errors")
@pytest.mark.parametrize("case", MIXED)
def test_columns_of_different_kinds_of_numbers(case):
    x = MIXED[case]
    plain = x.astype(float).to_numpy()
    for call in (
        lambda x: made(w=np.ones(3))(x, Y),
        lambda x: made(w=np.ones(3)).run(x, Y, batch_size=8).loss.tolist(),
        lambda x: made(w=np.ones(3)).bind(predict)(x).tolist(),
        lambda x: wg.train.fit(
            made(w=np.ones(3)), (x, Y), 1, 8, shuffle_seed=None, progress=False
        ).loss.tolist(),
    ):
        assert call(x) == call(plain)


@pytest.mark.usefixtures("errors")
@pytest.mark.parametrize("case", MIXED)
def test_rows_of_different_kinds_of_numbers(case):
    x = MIXED[case]
    predicted = made(w=np.ones(3)).bind(predict)
    assert predicted(x.iloc[0]) == predicted(x)[0]
    assert predicted(next(x.iterrows())[1]) == predicted(x)[0]


def test_a_row_with_what_is_no_number_is_refused():
    x = X.assign(b=X.b > 0)
    for other in (None, "a", DAYS[0]):
        row = x.iloc[0].copy()
        row["c"] = other
        with pytest.raises(DTypeError):
            made().bind(predict)(row)


def test_a_column_of_objects_is_named():
    x = X.assign(b=X.b.astype(object))
    said = r"column 'b' of x has dtype object; .* Write x\.astype\(np\.float32\)"
    for call in (
        lambda: made()(x, Y),
        lambda: made().run(x, Y, batch_size=8),
        lambda: wg.train.fit(made(), (x, Y), 1, 8, progress=False),
    ):
        with pytest.raises(DTypeError, match=said):
            call()
    made()(x.astype(np.float32), Y)


def test_a_frame_that_is_still_to_be_read():
    x = pl.DataFrame(NUMBERS, schema=list("abc")).lazy()
    said = r"argument 'x' is a LazyFrame, .* Pass x\.collect\(\)"
    for call in (
        lambda: made()(x, Y),
        lambda: made().run(x, Y, batch_size=8),
        lambda: made().bind(predict)(x),
        lambda: made().evaluate(loss, x, Y, batch_size=8),
        lambda: wg.train.fit(made(), (x, Y), 1, 8, progress=False),
        lambda: ensemble()(x, Y),
        lambda: ensemble().run(x, Y, batch_size=8),
    ):
        with pytest.raises(TypeError, match=said):
            call()


# Ensembles.


def ensemble(compiled=False):
    return wg.Ensemble(loss, list(np.eye(2, 3)), wg.optim.SGD(0.1), compiled=compiled)


@pytest.mark.usefixtures("errors")
def test_ensembles_take_frames_as_arrays():
    both = wg.train.each(np.stack([Y, -Y]))
    frames = (X, Y), (pl.DataFrame(NUMBERS, schema=list("abc")), pl.Series(Y.to_numpy()))
    results = []
    for x, y in ((NUMBERS, Y.to_numpy()), *frames):
        trained = ensemble(compiled=True)
        bound = trained.bind(predict)
        results.append(
            [
                trained(x, y),
                trained(x=x, y=both),
                trained.run(x, y, batch_size=8, shuffle_seed=0).loss,
                trained.run(x, both, batch_size=8).loss,
                [epoch.loss for epoch in trained.epochs(x, y, batch_size=8, epochs=2)],
                bound(x),
                bound.mean(x),
            ]
        )
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


OF_ENSEMBLES = {
    "Ensemble": lambda made, x, y: made(x, y),
    "Ensemble.run": lambda made, x, y: made.run(x, y, batch_size=8),
    "Ensemble.bind": lambda made, x, y: made.bind(loss)(x, y),
}


@pytest.mark.parametrize("by", OF_ENSEMBLES)
def test_ensembles_tell_what_a_step_tells(by):
    call, x, y = OF_ENSEMBLES[by], X.set_axis(DAYS), Y.set_axis(DAYS)
    with pytest.warns(RowOrderWarning, match=f"{by}: the indices of x and y have the same labels"):
        call(ensemble(), x, y[::-1])
    trained = ensemble()
    trained(x, y)
    with pytest.warns(ColumnOrderWarning, match=f"{by}: the columns of x come in another order"):
        call(trained, x[REVERSED], y)
    with pytest.raises(DTypeError, match=f"{by}: column 'b' of x holds texts"):
        call(trained, x.assign(b="text"), y)


# Labels that are texts.

NAMES = [("yes", "no", "no")[i % 3] for i in range(N)]
TEXTS = {
    "a Categorical of pandas": (pd.Series(pd.Categorical(NAMES)), "y.astype('category').cat.codes"),
    "a series of str": (pd.Series(NAMES), "y.astype('category').cat.codes"),
    "a series of objects": (pd.Series(NAMES, dtype=object), "y.astype('category').cat.codes"),
    "a series of polars": (pl.Series(NAMES), "y.cast(pl.Categorical).to_physical()"),
    "a Categorical of polars": (
        pl.Series(NAMES, dtype=pl.Categorical),
        "y.cast(pl.Categorical).to_physical()",
    ),
    "an Enum of polars": (
        pl.Series(NAMES, dtype=pl.Enum(["no", "yes"])),
        "y.cast(pl.Categorical).to_physical()",
    ),
    "an array": (np.array(NAMES), "np.unique(y, return_inverse=True)[1]"),
    "an array of objects": (np.array(NAMES, object), "np.unique(y, return_inverse=True)[1]"),
}


def classified(net, x, y):
    return wg.cross_entropy(net(x), y)


CLASSIFYING = {
    "call": lambda x, y: classifier()(x, y),
    "run": lambda x, y: classifier().run(x, y, batch_size=8),
    "fit": lambda x, y: wg.train.fit(classifier(), (x, y), 1, 8, progress=False),
    "ensemble": lambda x, y: wg.Ensemble(
        classified, lambda s: wg.nn.Linear(3, 2, seed=s), wg.optim.SGD(0.1), members=2
    ).run(x, y, batch_size=8),
}


def classifier():
    return wg.TrainStep(classified, wg.nn.Linear(3, 2, seed=0), wg.optim.SGD(0.1), compiled=False)


@pytest.mark.parametrize("way", CLASSIFYING)
@pytest.mark.parametrize("case", TEXTS)
def test_labels_of_texts_are_told_how_to_become_codes(case, way):
    y, codes = TEXTS[case]
    x = NUMBERS.astype(np.float32)
    with pytest.raises(DTypeError) as found:
        CLASSIFYING[way](x, y)
    assert f"as in {codes}" in str(found.value)
    CLASSIFYING[way](x, eval(codes, {"np": np, "pl": pl, "y": y}))


def test_columns_of_texts_are_told_how_to_become_codes():
    for frame, codes in [
        (X.assign(b=NAMES), "x['b'].astype('category').cat.codes"),
        (pl.DataFrame({"a": Y.to_numpy(), "b": NAMES}), "x['b'].cast(pl.Categorical).to_physical"),
    ]:
        with pytest.raises(DTypeError) as found:
            made().run(frame, Y, batch_size=8)
        assert f"as in {codes}" in str(found.value)
