"""The fuzzer finds what is planted: a wrong op, wrong bits, a wrong type, and makes it small."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.core.graph import Graph
from wengert.interpret.replay import replay
from wengert.passes.pipeline import run

from .comparing import Mismatch, check
from .coverage import Coverage
from .program import Block, Input, Program, Step
from .reducing import cause, reduce
from .search import visit

Change = Callable[[Any], Any]


def everywhere(threads: int, donate: Any) -> bool:
    return True


def changing(name: str, change: Change, only: Callable[[int, Any], bool] = everywhere) -> Any:
    """A compiler that gives what NumPy gives, but for one op, in the builds that `only` tells."""

    def compiler(function: Any, dims: Any = None, threads: int = 1, donate: Any = ()) -> Any:
        def call(*arguments: Any) -> Any:
            graph = run(wg.trace(function, *arguments))
            plain = not only(threads, donate)
            with pytest.MonkeyPatch.context() as patch:
                if not plain:
                    op = wg.op[name]
                    right = op.numpy
                    patch.setattr(op, "numpy", lambda *xs, **params: change(right(*xs, **params)))
                return tuple(np.array(x) for x in replay(Graph(**_parts(graph)), arguments))

        return call

    return compiler


def _parts(graph: Graph) -> dict[str, Any]:
    return {name: getattr(graph, name) for name in ("nodes", "inputs", "returns")}


def first_mismatch(compiler: Any, programs: int = 400) -> Mismatch:
    """What the fuzzer finds in a few programs, made small."""

    def test(program: Program) -> None:
        check(program, compiler)

    for number in range(programs):
        try:
            visit(number, test)
        except Mismatch as found:
            return reduce(found, test)
    raise AssertionError(f"{programs} programs did not find the fault")


def nudged(y: Any) -> Any:
    """Wrong by a thousandth of a percent in the last element only."""
    y = np.array(y)
    y.reshape(-1)[-1:] *= 1 + 1e-5
    return y


def last_bit(y: Any) -> Any:
    """The next number of its dtype."""
    return np.nextafter(y, np.inf).astype(y.dtype) if y.dtype.kind == "f" else y


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    compiler = changing("tanh", lambda y: y)
    for number in range(25):
        visit(number, lambda program: check(program, compiler))


@pytest.mark.parametrize("name", ["tanh", "sin", "matmul", "sum"])
def test_a_wrong_op_is_found(name: str) -> None:
    found = first_mismatch(changing(name, nudged))
    assert found.kind == "compiled and eager differ"
    assert len(found.program.function_text.splitlines()) <= 10, found.program


def test_rounding_is_not_a_fault() -> None:
    """The next number of the same dtype is as good an answer as any."""
    compiler = changing("tanh", lambda y: np.nextafter(y, np.sign(y) * 2).astype(y.dtype))
    for number in range(25):
        visit(number, lambda program: check(program, compiler))


def test_an_exact_op_must_be_exact() -> None:
    assert first_mismatch(changing("square", last_bit)).kind == "compiled and eager differ"


def test_fusion_must_not_change_a_bit() -> None:
    compiler = changing("tanh", last_bit, lambda *_: os.environ.get("WENGERT_FUSE") != "0")
    assert first_mismatch(compiler).kind == "fused and unfused differ"


def test_threads_must_not_change_a_bit() -> None:
    compiler = changing("tanh", last_bit, lambda threads, _: threads > 1)
    assert first_mismatch(compiler).kind == "one and three threads differ"


def test_a_race_is_found() -> None:
    """Workers may be right once and wrong later."""
    calls = itertools.count()
    compiler = changing("tanh", last_bit, lambda threads, _: threads > 1 and next(calls) % 2 == 1)
    assert first_mismatch(compiler).kind == "one and three threads differ"


def test_donation_must_not_change_a_bit() -> None:
    found = first_mismatch(changing("tanh", last_bit, lambda _, donate: bool(donate)))
    assert len(found.program.donated) == 1


def test_a_wrong_dtype_is_found() -> None:
    found = first_mismatch(changing("tanh", lambda y: y.astype(np.float64)))
    assert found.kind == "other types"


def test_an_error_is_found() -> None:
    def refuse(y: Any) -> Any:
        raise RuntimeError("no")

    found = first_mismatch(changing("floor", refuse))
    assert found.kind == "raised RuntimeError"
    assert cause(found).startswith("raised RuntimeError")


def test_what_is_printed_runs(tmp_path: Any) -> None:
    """A printed program stands on its own and shows the results."""
    printed: list[Program] = []
    visit(3, printed.append)
    file = tmp_path / "program.py"
    file.write_text(str(printed[0]))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "as eager" in done.stdout
    assert "WRONG TYPE" not in done.stdout


def test_coverage_counts_ops_inside_bodies() -> None:
    body = Block("f0", ("v1", "v2"), (Step("v3 = wg.erfc(v1)", ("v3",)),), "v3, v3")
    loop = Step("v4, v5 = wg.scan(f0, x0, length=2)", ("v4", "v5"), (body,))
    loss = Block("f1", ("x0",), (loop,), "wg.sum(v4)")
    step = Step("v6 = wg.grad(f1)(x0)", ("v6",), (loss,))
    coverage = Coverage()
    coverage.add(Program((Input("x0", "np.ones(2)"),), (step,), ("v6",)))
    assert coverage.ops["scan"] == 2  # there and back
    assert coverage.ops["erfc"] >= 1
    assert coverage.share("with a derivative") == coverage.share("with a loop") == 1
