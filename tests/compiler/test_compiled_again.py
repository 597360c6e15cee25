"""Functions that a program compiles again and again are told; what a person does again is not."""

from __future__ import annotations

import gc
import textwrap
import threading
import warnings

import numpy as np
import pytest

import wengert as wg


def energy(w, x):
    return np.sum((x @ w) ** 2)


def told(call):
    """Our warnings in a call that no runner of tests makes: that of a thread."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    return [str(x.message) for x in caught if x.category is wg.errors.ProgramsWarning]


def run_cells(*cells):
    """Run cells of a notebook, one after the other, as a person does."""
    arrays = {"w": np.ones(3), "x": np.ones((4, 3))}
    known = {"gc": gc, "np": np, "wg": wg, "energy": energy, **arrays}
    for each in cells:
        exec(compile(textwrap.dedent(each), "cell.py", "exec"), known)


def told_of_cells(*cells):
    return told(lambda: run_cells(*cells))


LINE = "force = wg.compile(wg.grad(energy)); force(w, x)\n"
DECORATED = """
    @wg.compile
    def force(w, x):
        return w * np.sum(x)
    force(w, x)
"""
METHOD = """
    gc.collect()  # a class refers to itself
    class Model:
        @wg.compile
        def force(self, w, x):
            return w * np.sum(x)
    Model().force(w, x)
"""
AFTER_A_LOOP = f"""
    for text in ("1", "x"):
        try:
            number = int(text)
        except ValueError:
            continue
    {LINE}
"""
OF_MODELS = "for size in (3, 4): wg.compile(energy)(np.ones(size), np.ones((4, size)))"
STEP = "wg.TrainStep(energy, w, wg.optim.SGD(0.1), compiled=False)(x)"
BOUND = "step.bind(lambda w, x, rng: x @ w + rng.normal())(x)"


@pytest.mark.parametrize("cell", [LINE, DECORATED, METHOD, AFTER_A_LOOP, STEP], ids=range(5))
def test_cells_that_a_person_runs_again_are_let_pass(cell):
    assert told_of_cells(*[cell] * 5) == []


def test_lines_of_a_script_are_let_pass():
    assert told_of_cells(LINE * 5) == []
    assert told_of_cells(OF_MODELS) == []


def test_functions_bound_again_by_a_person_are_let_pass():
    made = "step = wg.TrainStep(energy, w, wg.optim.SGD(0.1), compiled=False)"
    assert told_of_cells(made, *[BOUND] * 5) == []
    assert len(told_of_cells(made, f"for _ in range(5): {BOUND}")) == 1


def test_lines_of_a_function_that_is_called_once_are_let_pass():
    def main():
        w, x = np.ones(3), np.ones((4, 3))
        force = wg.compile(wg.grad(energy))
        force(w, x)
        force = wg.compile(wg.grad(energy))
        force(w, x)
        force = wg.compile(wg.grad(energy))
        force(w, x)

    assert told(main) == []


IN_LOOPS = {
    "for": f"for _ in range(4): {LINE}",
    "while": f"""
        turns = 0
        while turns < 4:
            turns += 1
            if turns: {LINE}
    """,
    "try": f"""
        for text in "1234":
            try:
                number = int(text)
                {LINE}
            except ValueError:
                continue
    """,
    "comprehension": "found = [wg.compile(wg.grad(energy))(w, x) for _ in range(4)]",
    "decorated": "for _ in range(4):" + textwrap.indent(textwrap.dedent(DECORATED), "    "),
    "class": "for _ in range(4):" + textwrap.indent(textwrap.dedent(METHOD), "    "),
    "function": f"""
        def turn():
            {LINE}
        turn(); turn()
        turn()
    """,
    "class in a function": "def turn():"
    + textwrap.indent(textwrap.dedent(METHOD), "    ")
    + "for _ in range(4): turn()",
    "step": f"for _ in range(4): {STEP}",
}


@pytest.mark.parametrize("name", IN_LOOPS)
def test_loops_of_a_script_and_its_functions_are_told(name):
    assert len(told_of_cells(IN_LOOPS[name])) == 1


# Settings: each has a program of its own.

X, Y = np.random.default_rng(0).standard_normal((20, 3)), np.ones(20)
MASSES = np.ones(3)


class Ridge:
    def __init__(self, lam):
        self.lam = lam

    def loss(self, w, x, y):
        return wg.mean((x @ w - y) ** 2) + self.lam * wg.sum(w**2)

    def predict(self, w, x):
        return self.lam * (x @ w)


class Trained(Ridge):
    def __init__(self, lam):
        super().__init__(lam)
        self.step = wg.TrainStep(self.loss, np.zeros(3), wg.optim.SGD(0.01))

    def go(self, calls):
        for _ in range(calls):
            self.step(X, Y)


class Ran(Trained):
    def go(self, calls):
        self.step.run(X, Y, batch_size=10, epochs=calls, shuffle_seed=0)


class Predicted(Trained):
    def go(self, calls):
        super().go(calls)
        self.step.bind(self.predict)(X)


class Compiled(Ridge):
    def __init__(self, lam):
        super().__init__(lam)
        self.gradient = wg.compile(wg.grad(self.loss))

    def go(self, calls):
        for _ in range(calls):
            self.gradient(np.ones(3), X, Y)


class OfArrays(Compiled):
    """One that reads an array, which is looked at after some calls."""

    def loss(self, w, x, y):
        return super().loss(w, x, y) + wg.sum(w * MASSES)


WAYS = (Trained, Ran, Predicted, Compiled, OfArrays)
SETTINGS = (0.0, 0.1, 0.5, 1.0)


@pytest.mark.parametrize("way", WAYS)
def test_settings_that_are_tried_for_a_few_calls_are_told(way):
    def sweep():
        for lam in SETTINGS:
            way(lam).go(2)

    texts = told(sweep)
    assert texts
    assert all("'self.lam', which it reads from outside, is 0.5 and was 0.1" in x for x in texts)


@pytest.mark.parametrize("way", WAYS)
def test_settings_that_are_trained_for_long_are_let_pass(way):
    def sweep():
        for lam in SETTINGS:
            way(lam).go(100)

    assert told(sweep) == []


@pytest.mark.parametrize("way", WAYS)
def test_objects_that_are_kept_are_let_pass(way):
    def in_turn():
        kept = [way(lam) for lam in SETTINGS]
        for _ in range(3):
            for each in kept:
                each.go(1)

    assert told(in_turn) == []


@pytest.mark.parametrize("way", [Trained, Compiled])
def test_a_setting_that_changes_under_one_object_is_told(way):
    def changed():
        one = way(0.0)
        for lam in SETTINGS:
            one.lam = lam
            one.go(20)

    (text,) = told(changed)
    assert "'self.lam', which it reads from outside, is 0.5 and was 0.1" in text


def test_settings_that_a_person_tries_one_after_the_other_are_let_pass():
    loss = "def loss(w, x): return wg.sum(x @ w) + lam * wg.sum(w ** 2)"
    cells = [f"lam = {lam}\nwg.compile(wg.grad(loss))(w, x)" for lam in SETTINGS]
    assert told_of_cells(loss, *cells) == []
    lines = [each.replace("\n", "; ") for each in cells]
    assert told_of_cells("\n".join([loss, *lines])) == []
    loop = "for lam in (0.0, 0.1, 0.5): wg.compile(wg.grad(loss))(w, x)"
    assert len(told_of_cells(loss, loop)) == 1


# Functions that a program reads from outside, and that are written anew.

MADE = {
    "step": "step = wg.TrainStep(loss, w, wg.optim.SGD(0.001)); call = lambda x: step(x)",
    "compiled": "step = wg.compile(wg.grad(loss)); call = lambda x: step(w, x)",
}
LOSS = "def loss(w, x): return wg.mean((features(x) @ w - 1.0) ** 2)"
EDITS = [f"def features(x): return np.{name}(x)" for name in ("sin", "tanh", "cos", "exp", "abs")]


@pytest.mark.parametrize("way", MADE)
def test_functions_that_a_person_edits_are_let_pass(way):
    calls = "for _ in range(3): call(x)"
    edits = [cell for edit in EDITS for cell in (edit, calls)]
    assert told_of_cells(EDITS[0], LOSS, MADE[way], *edits) == []
    chosen = [each.partition("return ")[2].replace("(x)", "") for each in EDITS]
    edits = [cell for name in chosen for cell in (f"features = {name}", calls)]
    assert told_of_cells(EDITS[0], LOSS, MADE[way], *edits) == []


def test_an_edit_makes_a_program_anew_for_each_size():
    calls = "call(x), call(np.ones((2, 4, 3)))"
    edits = [cell for edit in EDITS for cell in (edit, calls)]
    assert told_of_cells(EDITS[0], LOSS, MADE["compiled"], *edits) == []
    (text,) = told_of_cells(EDITS[0], LOSS, MADE["compiled"], *edits, "call(np.ones((5, 3)))")
    assert "'x' has shape (5, 3)" in text


AGAIN = {
    "made anew": "for i in range(4): features = lambda x: x * i; call(x)",
    "of two codes": """
        for i in range(6):
            j, features = i, (lambda x: x * i) if i % 2 else (lambda x: x + j)
            call(x)
    """,
    "around a number": "for i in range(4): features = (lambda k: lambda x: x * k)(i); call(x)",
    "beside a number": "\n".join(f"{edit}\nscale = {i}.5; call(x)" for i, edit in enumerate(EDITS)),
}


@pytest.mark.parametrize("name", AGAIN)
@pytest.mark.parametrize("way", MADE)
def test_functions_that_a_loop_makes_anew_are_told(way, name):
    loss = LOSS.replace("1.0", "scale") if name == "beside a number" else LOSS
    (text,) = told_of_cells("scale = 1.0", EDITS[0], loss, MADE[way], AGAIN[name])
    assert "has a third program" in text


def captured(*cells):
    """The warnings of recordings that gave nothing new, in cells that a person runs."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run_cells(*cells)
    return [str(x.message) for x in caught if x.category is wg.errors.CaptureWarning]


@pytest.mark.parametrize("way", MADE)
def test_edits_that_change_no_program_are_let_pass(way):
    names = ("x", "rows", "data", "given", "table", "inputs")
    edits = [f"def features({name}): return np.sin({name})" for name in names]
    edits = [cell for edit in edits for cell in (edit, "call(x)")]
    assert captured(EDITS[0], LOSS, MADE[way], *edits) == []
    again = "for _ in range(6): features = lambda x: np.sin(x); call(x)"
    (text,) = captured(EDITS[0], LOSS, MADE[way], again)
    assert "'features', which it could read from outside, is not" in text
