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


def told_of_cells(*cells):
    """What is told where a person runs cells of a notebook, one after the other."""
    arrays = {"w": np.ones(3), "x": np.ones((4, 3))}
    known = {"gc": gc, "np": np, "wg": wg, "energy": energy, **arrays}

    def run():
        for each in cells:
            exec(compile(textwrap.dedent(each), "cell.py", "exec"), known)

    return told(run)


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
