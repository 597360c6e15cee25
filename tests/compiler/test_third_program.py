"""At the third program of a function, a warning says what differed and what to do; once."""

from __future__ import annotations

import functools
import warnings
from array import array
from collections import deque
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
import pytest

import wengert as wg

rate = 0.0


def warned(*calls):
    """The warnings of some calls."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call in calls:
            call()
    return [str(each.message) for each in caught]


def twice(x):
    return x * 2.0


def shapes(f, *made):
    return warned(*(lambda x=x: f(x) for x in made))


def test_shapes():
    f = wg.compile(lambda x: x * 2)
    assert not shapes(f, np.ones((3, 4)), np.ones((3, 5)), np.ones((3, 4)))
    (text,) = shapes(f, np.ones((3, 6)), np.ones((3, 7)), np.ones((3, 8)))
    assert "'x' has shape (3, 6) and had (3, 5)" in text
    assert "dims={'x': {1: wg.Dim('n')}}" in text
    assert "test_third_program.py:" in text


def test_the_repair_is_right():
    f = wg.compile(lambda x: x * 2, dims={"x": {1: wg.Dim("n")}})
    assert not shapes(f, *(np.ones((3, n)) for n in range(1, 9)))


def test_sizes_that_python_needs():
    f = wg.compile(lambda x: x * len(x), dims={"x": {0: wg.Dim("n")}})
    texts = shapes(f, *(np.ones(n) for n in range(1, 6)))
    (text,) = (text for text in texts if "third program" in text)
    assert "wg.take(table, wg.arange(n), axis=0)" in text
    assert "wg.zeros" in text


def of_lengths(step, *all_lengths):
    """What is told of lists of sequences with these lengths, and with targets."""

    def call(lengths):
        rows = [np.ones((n, 1)) for n in lengths]
        step(rows, [2 * x for x in rows])

    return warned(*(functools.partial(call, lengths) for lengths in all_lengths))


def test_sizes_that_are_equal_in_a_call_are_told_to_have_names():
    def loss(w, xs, ys):
        return sum(wg.mean((x * w - y) ** 2) for x, y in zip(xs, ys, strict=True))

    calls = (3, 4), (4, 4), (5, 3), (6, 6), (7, 8)
    step = wg.TrainStep(loss, np.ones(1), wg.optim.SGD(0.01))
    assert not of_lengths(step, (3, 4), (5, 6), (7, 9), (4, 4))  # two programs are enough for these
    step = wg.TrainStep(loss, np.ones(1), wg.optim.SGD(0.01))
    texts = of_lengths(step, (3, 4, 5), (4, 4, 5), (3, 5, 5))
    (text,) = (text for text in texts if "third program" in text)
    assert "sizes that are equal in a call are taken as one" in text
    assert "len" not in text
    assert "'xs.0': {0: wg.Dim('n')}, 'xs.1': {0: wg.Dim('m')}, 'xs.2': {0: wg.Dim('k')}" in text
    dims = {f"{name}.{i}": {0: wg.Dim("nm"[i])} for name in ("xs", "ys") for i in range(2)}
    step = wg.TrainStep(loss, np.ones(1), wg.optim.SGD(0.01), dims=dims)
    assert not of_lengths(step, *calls)


def of_bags(lengths_of_calls, loss, as_dict=False, **options):
    """What is told of a list of four sequences, whose targets are four as well."""
    step = wg.TrainStep(loss, np.ones(3), wg.optim.SGD(0.01), **options)

    def call(lengths):
        rows = [np.ones((n, 3)) for n in lengths]
        step(dict(zip("abcd", rows, strict=True)) if as_dict else rows, np.arange(4.0))

    texts = warned(*(functools.partial(call, each) for each in lengths_of_calls))
    return [text for text in texts if "third program" in text]


BAGS = (5, 6, 7, 8), (4, 6, 7, 8), (9, 9, 5, 6), (3, 7, 4, 5), (8, 8, 8, 8)


def test_a_length_in_a_list_that_is_by_chance_that_of_another_argument():
    def loss(w, xs, y):
        return wg.mean((wg.stack([wg.mean(x @ w) for x in xs]) - y) ** 2)

    (text,) = of_bags(BAGS, loss)
    assert "'xs.0' has shape (batch_1, 3) and had (4, 3), and each shape compiles one" in text
    assert "sizes that are equal in a call are taken as one, here that of another" in text
    dims = "'xs.0': {0: wg.Dim('n')}, 'xs.1': {0: wg.Dim('m')}, 'xs.2': {0: wg.Dim('k')}, 'xs.3': "
    assert f"Name each of them: dims={{{dims}{{0: wg.Dim('n1')}}}}" in text
    assert "len" not in text
    named = {f"xs.{i}": {0: wg.Dim(name)} for i, name in enumerate(("n", "m", "k", "n1"))}
    assert not of_bags(BAGS, loss, dims=named)


def test_a_length_in_a_dict_that_is_by_chance_that_of_another_argument():
    def loss(w, xs, y):
        return wg.mean((wg.stack([wg.mean(x @ w) for x in xs.values()]) - y) ** 2)

    (text,) = of_bags(BAGS, loss, as_dict=True)
    assert "Name each of them: dims={'xs.a': {0: wg.Dim('n')}, 'xs.b': {0: wg.Dim('m')}" in text


def test_a_length_in_a_list_that_python_needs_is_told_as_such():
    def loss(w, xs, y):
        return wg.mean((wg.stack([wg.sum(x @ w) / len(x) for x in xs]) - y) ** 2)

    (text,) = of_bags(BAGS, loss)
    assert "Python needed that size" in text


def test_dtypes_and_axes():
    f = wg.compile(lambda x: x * 2)
    (text,) = shapes(f, *(np.ones(3, each) for each in "fdi"))
    assert "'x' has dtype int32 and had float64" in text
    f = wg.compile(lambda x: x * 2)
    (text,) = shapes(f, *(np.ones((2,) * n) for n in range(4)))
    assert "Give it one number of axes" in text


def test_kinds_of_numbers():
    f = wg.compile(lambda x, rate: x * rate)
    (text,) = shapes(lambda rate: f(np.ones(3), rate), 0.5, np.float32(0.5), 1)
    assert "'rate' has dtype int64 and had float32" in text
    assert "Pass float(rate), a number of Python's." in text
    assert not shapes(lambda rate: f(np.ones(3), float(rate)), 0.5, np.float32(0.5), 1)


def test_values():
    f = wg.compile(lambda x, k: x * len(k))
    (text,) = warned(*(lambda k=k: f(np.ones(3), k) for k in ("a", "bc", "def", "ghij")))
    assert "argument 'k' has 'def' and had 'bc'" in text
    assert "If there are few, name it: wg.compile(f, static='k')." in text
    step = wg.TrainStep(lambda w, x, k: wg.sum(w * x), np.ones(3), wg.optim.SGD(0.1))
    (text,) = warned(*(lambda k=k: step(np.ones(3), k) for k in ("a", "bc", "def")))
    assert "If there are few, filter wg.errors.ProgramsWarning." in text


def test_numbers_in_a_tree_are_told_how_they_are_arrays():
    optimizer = wg.optim.Adam(wg.optim.Cosine(0.1, 100))
    update = wg.compile(lambda x, s, n: optimizer.update(x, x, n, s)[0])
    x = np.ones(3)
    state = optimizer.init(x)
    calls = (lambda i=i: update(x, optimizer.scalars(i), state) for i in range(1, 5))
    (text,) = warned(*calls)
    now, before = optimizer.scalars(3), optimizer.scalars(2)
    changed = [repr(now[key]) for key in now if now[key] != before[key]]
    assert f"argument 's' has {', '.join(changed)} and had" in text
    assert "Pass wg.tree.arrays(s), whose numbers are arrays." in text
    calls = (
        lambda i=i: update(x, wg.tree.arrays(optimizer.scalars(i)), state) for i in range(1, 5)
    )
    assert not warned(*calls)


def test_settings_of_layers_and_texts_in_a_tree_are_no_arrays():
    rates, texts = [wg.nn.Dropout(i / 10) for i in range(1, 5)], ["a", "bc", "def"]
    for held in (rates, texts):
        f = wg.compile(lambda x, c: x * 2)
        (text,) = shapes(lambda c, f=f: f(np.ones(3), {"c": c}), *held)
        assert "Pass a number as an argument of its own, or an array." in text


def test_static_arguments_are_meant():
    f = wg.compile(lambda x, k: x * k, static="k")
    assert not warned(*(lambda k=k: f(np.ones(3), k) for k in range(6)))


def test_trees():
    f = wg.compile(lambda x: len(x) * 2.0)
    (text,) = shapes(f, *([np.ones(3)] * n for n in range(1, 6)))
    assert "argument 'x' is a list of 3 and was a list of 2" in text


def test_what_is_outside():
    f = wg.compile(lambda x: x * rate)

    def call(value):
        globals()["rate"] = value
        f(np.ones(3))

    (text,) = warned(*(lambda v=v: call(v) for v in (0.1, 0.2, 0.3, 0.4)))
    assert "'rate', which it reads from outside, is 0.3 and was 0.2" in text
    assert "Pass it as an argument. (" in text


def test_a_whole_number_outside_may_be_a_length():
    held = {"length": 2, "times": [0]}

    def costs(w, x):
        return wg.sum(wg.scan(lambda s, _: (s @ w, wg.sum(s)), x, length=held["length"])[1])

    def call(n):
        held["length"] = n
        step(np.ones((1, 2)))

    step = wg.TrainStep(costs, np.eye(2), wg.optim.SGD(0.0))
    (text,) = warned(*(lambda n=n: call(n) for n in (2, 3, 4, 5)))
    assert "Pass it as an argument; where it is a length, a shape or a range, each value" in text
    assert "too: scan over np.arange(largest) with wg.where(t < number, cost, 0.0). (" in text

    f = wg.compile(lambda x: x * len(held["times"]))
    (text,) = warned(*(lambda: (held["times"].append(0), f(np.ones(3))) for _ in range(4)))
    assert "Pass it as an argument. (" in text


def of_nodes(w, x, neighbours, y):
    return wg.mean((neighbours @ (x @ w) - y) ** 2)


def test_square_arguments_of_steps_share_their_size_with_the_rows():
    graphs = [(np.ones((n, 3)), np.eye(n), np.ones(n)) for n in range(4, 9)]
    step = wg.TrainStep(of_nodes, np.ones(3), wg.optim.SGD(0.1))
    (text,) = warned(*(lambda each=each: step(*each) for each in graphs))
    n = wg.Dim("n")
    dims = {"x": {0: n}, "neighbours": {0: n, 1: n}, "y": {0: n}}
    shown = str(dims).replace("Dim(n)", "wg.Dim('n')").replace(": n", ": wg.Dim('n')")
    assert f"Leave the size open: dims={shown}. (" in text
    opened = wg.TrainStep(of_nodes, np.ones(3), wg.optim.SGD(0.1), dims=dims)
    assert not warned(*(lambda each=each: opened(*each) for each in graphs))


def test_steps_and_bound_functions():
    step = wg.TrainStep(lambda w, x: wg.mean(x) * wg.sum(w), np.ones(2), wg.optim.SGD(0.1))
    bound = step.bind(lambda w, x: wg.sum(x) * w)
    for f in (step, bound):
        (text,) = shapes(f, *(np.ones((4, n)) for n in range(1, 6)))
        assert "'x' has shape" in text
        assert not shapes(f, *(np.ones((n, 2)) for n in range(2, 6)))


def test_functions_of_libraries_do_not_warn():
    assert not shapes(wg.compile(wg.softmax), *(np.ones(n) for n in range(1, 6)))
    assert not shapes(wg.compile(np.linalg.norm), *(np.ones(n) for n in range(1, 6)))


def test_methods_are_named():
    class Model:
        @wg.compile
        def forward(self, x):
            return x * 2

    model = Model()
    (text,) = shapes(model.forward, *(np.ones(n) for n in range(1, 6)))
    assert text.startswith("compile: forward has a third program; 'x' has shape")


def test_objects_outside_are_told_by_what_differs():
    held = {"a": 1.0}
    f = wg.compile(lambda x: x * len(held) * sum(held.values()))
    texts = []
    for value in (1.0, 2.0, 3.0):
        held = {"a": value}
        texts += warned(lambda: f(np.ones(3)))
    (text,) = texts
    assert "is {'a': 3.0} and was {'a': 2.0}" in text
    assert "0x" not in text


def test_a_shape_is_named_where_the_dtype_is_another_one_too():
    step = wg.TrainStep(
        lambda w, r: wg.sum(w) * wg.sum(r), np.ones(2, np.float32), wg.optim.SGD(0.0)
    )
    given = np.ones((1, 1, 1), np.float32), np.ones(1, np.float32), np.ones((1, 1))
    (text,) = shapes(step, *given)
    assert "'r' has shape (batch, 1) and dtype float64 and had (batch,) and float32" in text
    assert "Give it one number of axes, and one dtype" in text


def test_the_warning_is_a_class_of_errors_and_points_at_the_function():
    f = wg.compile(lambda x: x * 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in (1, 2, 3):
            f(np.ones(n))
    (each,) = caught
    assert each.category is wg.errors.ProgramsWarning
    assert each.filename == __file__


@dataclass
class Box:
    w: np.ndarray


def box(**more):
    found = Box(np.ones(3))
    for name, value in more.items():
        setattr(found, name, value)
    return found


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([{"a": 1.0}, np.ones(3), None], "argument 'm' is None and was an array"),
        ([np.ones(3), None, np.ones(3, "f")], "argument 'm' is an array and was None"),
        ([1, True, np.float64(1.0)], "argument 'm' is an array and was a Python bool"),
        ([np.float64(1.0), True, 1.0], "argument 'm' is a Python float and was a Python bool"),
        (
            [box(), box(tag=1), box(tag=1, more=2)],
            "is a Box with the attributes 'tag', 'more' beside its fields and was a Box with the "
            "attribute 'tag' beside its fields",
        ),
        (
            [{"a": {}}, {"a": {"b": np.ones(2)}}, {"a": {"b": None}}],
            "argument 'm' is None at 'a.b' and was an array",
        ),
    ],
)
def test_the_argument_that_has_another_form_is_named(given, said):
    seen = []

    def f(x, m):
        seen.append(1)  # which is no cause
        return x * 2

    compiled = wg.compile(f)
    texts = warned(*(lambda m=m: compiled(np.ones(3), m) for m in given))
    (text,) = (text for text in texts if "third program" in text)
    assert said in text
    assert "one form" in text


class Weighted:
    def __init__(self):
        self.beta = 1.0

    def __call__(self, w, x):
        return np.sum(w * x) * self.beta


def test_objects_that_are_called():
    own = Weighted()

    def call(f):
        f()
        own.beta *= 0.9

    x = np.ones(3)
    step, compiled = wg.TrainStep(own, x, wg.optim.SGD(0.0)), wg.compile(own)
    bound = step.bind(own)
    for f in (lambda: step(x), lambda: compiled(x, x), lambda: bound(x)):
        (text,) = warned(*(lambda f=f: call(f) for _ in range(4)))
        assert text.startswith("compile: Weighted has a third program; 'Weighted.beta', which it")
        assert "test_third_program.py:" in text


def test_partials_and_transformed_functions():
    def scaled(x, k):
        return np.sum(x) * rate * k

    def call(f, value):
        globals()["rate"] = value
        f(np.ones(3))

    part = functools.partial(scaled, k=2.0)
    for f in (wg.compile(part), wg.compile(wg.grad(part)), wg.compile(wg.grad(lambda x: part(x)))):
        (text,) = warned(*(lambda v=v, f=f: call(f, v) for v in (0.1, 0.2, 0.3, 0.4)))
        assert "'rate', which it reads from outside" in text


@pytest.mark.parametrize("way", ["bind", "evaluate"])
def test_a_function_of_a_loop_that_takes_another_number_each_time(way):
    step = wg.TrainStep(lambda w, x: np.sum(w * x), np.ones(3), wg.optim.SGD(0.0))
    rows = np.ones((4, 3))

    def epochs(change):
        for epoch in range(5):
            beta = epoch / 10 if change else 0.5
            if way == "bind":
                step.bind(lambda w, x: beta * np.mean(x * w))(rows)  # noqa: B023
            else:
                step.evaluate(lambda w, x: beta * np.mean(x * w), rows, batch_size=2)  # noqa: B023

    assert not warned(lambda: epochs(False))
    (text,) = warned(lambda: epochs(True))
    assert "'beta', which it reads from outside, is 0.1 and was 0.0" in text


@pytest.mark.parametrize("way", ["step", "compile"])
def test_a_loop_over_settings_that_makes_the_same_function_anew(way):
    x = np.ones(3)

    def sweep(values, sizes=(3,)):
        for lam in values:
            for n in sizes:

                def penalty(w):
                    return lam * wg.sum(w * w)  # noqa: B023

                def loss(w, x):
                    return wg.sum(x) * wg.sum(w) + penalty(w)

                if way == "step":
                    wg.TrainStep(loss, np.ones(n), wg.optim.SGD(lam))(x)
                else:
                    wg.compile(loss)(np.ones(n), x)

    if way == "step":  # each step has weights of its own, and of compiled functions one would do
        assert not warned(lambda: sweep([0.5] * 4))
        assert not warned(lambda: sweep([0.1, 0.2, 0.3, 0.4], [3, 4]))  # the models differ as well
    (text,) = warned(lambda: sweep([0.1, 0.2, 0.3, 0.4, 0.5]))
    assert "loss has a third program; 'lam', which it reads from outside, is 0.3 and" in text
    assert "Pass it as an argument" in text


@pytest.mark.parametrize(
    "turn",
    [
        lambda i: wg.compile(lambda x: x * 2.0)(np.ones(3)),
        lambda i: wg.compile(lambda x: x * i)(np.ones(3)),
        lambda i: wg.compile(wg.grad(lambda x: wg.sum(x * x)))(np.ones(3)),
        lambda i: wg.compile(twice)(np.ones(3)),
    ],
    ids=["the same", "around an int", "derivatives", "one function"],
)
def test_a_loop_that_compiles_in_every_turn_is_told_so_once(turn):
    assert not warned(*(lambda i=i: turn(i) for i in range(2)))
    found = warned(*(lambda i=i: turn(i) for i in range(2, 9)))
    (text,) = found
    assert "was compiled a third time, and what wg.compile gave the times before was" in text
    assert "once, before the loop" in text
    assert "test_third_program.py:" in text


def choose(f, p):
    return wg.sum(f(p) ** 2)


def of_a_global(f):
    globals()["chosen"] = f
    return lambda p: wg.sum(chosen(p) ** 2)  # noqa: F821 (see above)


def of_a_global_in_a_loop(f):
    globals()["chosen"] = f
    return lambda p: sum([wg.sum(chosen(q) ** 2) for q in (p, 2 * p)])  # noqa: F821


def of_one_inside(f):
    def residual(p):
        return f(p) - 1

    return lambda p: wg.sum(residual(p) ** 2)


def of_a_name(f):
    name, table = repr(f), {repr(f): f}
    return lambda p: wg.sum(table[name](p) ** 2)


CHOOSING = {
    "closure": lambda f: lambda p: wg.sum(f(p) ** 2),
    "default": lambda f: lambda p, f=f: wg.sum(f(p) ** 2),
    "partial": lambda f: functools.partial(choose, f),
    "global": of_a_global,
    "global in a loop": of_a_global_in_a_loop,
    "inside": of_one_inside,
    "name": of_a_name,
}
MODELS = {
    "written": [lambda p: p, lambda p: p + 1, lambda p: wg.exp(p), lambda p: p * p],
    "compiled": [wg.compile(lambda p: p + 3), wg.compile(wg.grad(lambda p: wg.sum(p**3)))] * 2,
    "ours and NumPy's": [np.tanh, wg.relu, np.cumsum, wg.softplus],
    "with a setting": [functools.partial(each, axis=0) for each in (np.sort, np.cumsum, wg.flip)],
}


@pytest.mark.parametrize("way", CHOOSING)
@pytest.mark.parametrize("models", MODELS)
def test_a_loop_that_compiles_another_model_in_each_turn(way, models):
    def compare():
        for f in MODELS[models]:
            value_and_grad = wg.compile(wg.value_and_grad(CHOOSING[way](f)))
            for _ in range(2):
                value_and_grad(np.ones(3))

    assert not warned(compare)
    again = [lambda: wg.compile(wg.value_and_grad(CHOOSING[way](np.tanh)))(np.ones(3))] * 5
    if way != "name":  # the table is made anew as well
        assert len(warned(*again)) == 1


def test_compiled_functions_of_one_line_that_are_kept_are_as_they_should_be():
    kept = [wg.compile(lambda x, n=n: x * n) for n in range(5)]
    assert not warned(*(lambda f=f: f(np.ones(2)) for f in kept))


def test_a_search_in_each_turn_of_a_loop_throws_no_compiled_function_away():
    def loss(p, x):
        return wg.sum((p - x) ** 2)

    def search(x):
        return wg.optim.LBFGS(max_iter=2).minimize(loss, np.zeros(()), x)

    assert not warned(*(lambda i=i: search(np.arange(2.0) + i) for i in range(4)))


def test_a_search_with_data_of_other_lengths_is_not_told_of_dims():
    def loss(p, x):
        return wg.mean((p - x) ** 2)

    search = wg.optim.LBFGS(max_iter=2)
    (text,) = warned(
        *(lambda n=n: search.minimize(loss, np.zeros(()), np.ones(n)).tree for n in (3, 4, 5, 6))
    )
    assert "dims" not in text
    assert "Pad the data to one size and pass weights" in text


def test_transformations_of_one_function_are_different_programs():
    def f(w, v):
        return wg.sum(w**3 * v)

    x = np.ones(3)
    turned = (f, wg.grad(f), wg.grad(f, argnums=1), wg.hessian(f), wg.value_and_grad(f))
    assert not warned(lambda: [wg.compile(each)(x, x) for each in turned])
    assert len(warned(lambda: [wg.compile(wg.hessian(f))(x, x) for _ in range(3)])) == 1


def test_every_argument_whose_size_changed_is_named():
    step = wg.TrainStep(
        lambda w, x, mask, y: wg.mean(wg.sum(x * w * mask, axis=1) - wg.sum(y, axis=1)),
        np.ones(()),
        wg.optim.SGD(0.0),
    )

    def call(n, m):
        step(np.ones((2, n)), np.ones((2, n)), np.ones((2, m)))

    (text,) = warned(*(lambda n=n: call(n, n + 5) for n in (3, 4, 5, 6)))
    assert text.partition("Leave the sizes open: ")[2].startswith(
        "dims={'x': {1: wg.Dim('n')}, 'mask': {1: wg.Dim('n')}, 'y': {1: wg.Dim('m')}}"
    )


def _contents():
    items, numbers, value = deque([0.0], maxlen=3), array("d", [0.0]), ContextVar("value")
    return {
        "items of items": (lambda x: x * items[-1], items.append),
        "items of numbers": (lambda x: x * numbers[0], lambda i: numbers.__setitem__(0, i)),
        "value of value": (lambda x: x * value.get(), value.set),
    }


@pytest.mark.parametrize("name", _contents())
def test_what_is_in_a_container_of_another_kind(name):
    read, change = _contents()[name]
    compiled = wg.compile(read)
    (found,) = warned(*(functools.partial(_changed, change, i * 1.5, compiled) for i in range(3)))
    assert f"{name!r}, which it reads from outside, is" in found


def _changed(change, value, compiled):
    change(value)
    compiled(np.ones(3))
