"""Graph texts with something changed in them: refused, or right in every way to run them.

    PYTHONPATH=tests python -m fuzz.mutating --mutations 10000 --seed 7

A mutation changes numbers, types, operands, parameters or ops of a true text. Half of the mutants
get the types that the rules of their ops give them, so that no stored type betrays the change.
Where the check lets a mutant pass, eager and compiled code agree on it; nothing else is raised than
refusals, and the process lives on.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from passes.checking import recorded
from table.calls import calls, outputs
from table.ops import OPS

import wengert as wg
from wengert.core import tree
from wengert.core.dims import Dim, substitute
from wengert.core.graph import Graph, Node
from wengert.core.table import op as ops
from wengert.core.text.read import GraphReader
from wengert.core.text.show import show
from wengert.core.types import ArrayType, type_of
from wengert.errors import CheckError, ShapeError, WengertError
from wengert.interpret.replay import replay
from wengert.interpret.trace import node_type, trace_flat
from wengert.passes.dce import dce
from wengert.runtime.executable import Executable
from wengert.runtime.signature import Signature

from .closeness import bits, distance, scatter, with_sizes

LARGEST = 20_000  # elements of a value that is still computed
REFUSALS = (WengertError, IndexError, ValueError, np.linalg.LinAlgError)  # of a run


class Wrong(AssertionError):
    """A mutant that was neither refused nor right."""


# True texts.


def _of_op(op: Any, dtype: Any) -> list[Graph]:
    found = []
    for call in calls(op, dtype):
        operands = [None if x is None else np.asarray(x) for x in call.operands]
        arrays = [x for x in operands if x is not None]

        def run(*given: Any, call: Any = call, operands: Any = operands) -> Any:
            rest = iter(given)
            return outputs(call(*(None if x is None else next(rest) for x in operands)))

        found.append(recorded(run, arrays))
    return found


def _step(h: Any, row: Any) -> Any:
    h = wg.tanh(h + row)
    return h, wg.sum(h)


def _loop(x: Any, h: Any) -> Any:
    last, sums = wg.scan(_step, h, x)
    return [wg.cond(wg.sum(last) > 0, lambda v: v * 2, lambda v: v + sums[0], last), sums]


def _looped_gradient(x: Any, h: Any) -> Any:
    loss = lambda x, h: wg.sum(wg.checkpoint(_loop)(x, h)[0] ** 2)  # noqa: E731
    return list(wg.grad(loss, argnums=(0, 1))(x, h))


def _network(x: Any, w: Any, b: Any) -> Any:
    def loss(w: Any, b: Any) -> Any:
        hidden = wg.layer_norm(wg.tanh(x @ w + b))
        return wg.mean(wg.softmax(hidden[:, 1:]) * wg.arange(2.0) / x.shape[0])

    return list(wg.grad(loss, argnums=(0, 1))(w, b))


@cache
def seeds() -> list[str]:
    """Texts of every op's samples, and of programs with bodies and open sizes."""
    double, n = np.dtype("float64"), Dim("n")
    graphs = [graph for op in OPS for graph in _of_op(op, double)]
    graphs += [graph for op in OPS if not op.exact for graph in _of_op(op, np.dtype("float32"))[:1]]
    for rows in (3, n):
        loop = [ArrayType((rows, 2), double), ArrayType((2,), double)]
        network = [ArrayType((rows, 4), double), ArrayType((4, 3), double), ArrayType((3,), double)]
        graphs += [trace_flat(f, loop, ["x", "h"])[0] for f in [_loop, _looped_gradient] * 15]
        graphs += [trace_flat(_network, network, ["x", "w", "b"])[0] for _ in range(15)]
    return [show(graph, lines=False) for graph in graphs]


# Changes.

_NUMBER = re.compile(r"(?<![\w.%$\"])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])")
_OPERAND = re.compile(r"%\d+")
_DTYPE = re.compile(r"\b(?:float|u?int)\d+\b|\bbool\b")
_TYPE = re.compile(r"\b\w+\[[^\]()=]*\]")
_TUPLE = re.compile(r"\([^()%:=]*\)")
_PARAMETER = re.compile(r", \w+=(?:\([^()]*\)|[^,()]+)")
_VALUE = re.compile(r"(?<==)(?:\((?:[^()]|\([^()]*\))*\)|[^,()\s]+)")
_NAME = re.compile(r"(?<== )\w+(?=\()")
_TRUTH = re.compile(r"\b(?:True|False|None)\b")
_TEXT = re.compile(r'"\w+"')
_VALUES = (
    "0 1 -1 2 3 7 0.5 -0.0 1e300 nan inf -inf True False None () (0,) (1, 0) (0, 0) (-1,) (2, 3)"
    ' (0, 1, 2) ((0, 1),) "mean" "sum" "none" "left" "" float32 int64 bool n 2*n + 1 n - 3'
    " 9223372036854775807 -9223372036854775808 18446744073709551616 100000000000000000000"
    " array([1, 2], int32) float32(0.5) float64[2] slice(0, 1, None) ... (...,)"
)
VALUES = re.findall(r"\((?:[^()]|\([^()]*\))*\)|\w+\([^()]*\)|n - 3|2\*n \+ 1|\S+", _VALUES)
NUMBERS = ["0", "1", "-1", "2", "3", "4", "5", "6", "-2", "12", "64", "0.5", "4294967296", "1e10"]


def _replace(text: str, pattern: re.Pattern[str], new: Any, rng: random.Random) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = rng.choice(found)
    return text[: match.start()] + new(match[0]) + text[match.end() :]


def _other_tuple(old: str, rng: random.Random) -> str:
    items = [each for each in old[1:-1].replace(" ", "").split(",") if each]
    kind = rng.randrange(4)
    if kind == 0 and items:
        del items[rng.randrange(len(items))]
    elif kind == 1:
        items.insert(rng.randrange(len(items) + 1), rng.choice(NUMBERS))
    elif kind == 2:
        rng.shuffle(items)
    elif items:
        items[rng.randrange(len(items))] = rng.choice(items + NUMBERS)
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


def _everywhere(text: str, rng: random.Random) -> str:
    """One type replaced wherever it stands."""
    types = sorted(set(_TYPE.findall(text)))
    if not types:
        return text
    old = rng.choice(types)
    new = _replace(old, _NUMBER, lambda _: rng.choice(NUMBERS[:9]), rng)
    new = _replace(new, _DTYPE, lambda _: rng.choice(_DTYPES), rng) if rng.random() < 0.4 else new
    return text.replace(old, rng.choice([new, *types]))


_DTYPES = ["float32", "float64", "int8", "int32", "int64", "uint8", "uint32", "uint64", "bool"]


def mutate(text: str, rng: random.Random) -> str:
    """A text with one to three things changed."""
    names = [each.name for each in OPS]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kind, types = rng.randrange(12), _TYPE.findall(text)
        if kind <= 2:
            text = _replace(text, _NUMBER, lambda _: rng.choice(NUMBERS), rng)
        elif kind == 3:
            text = _replace(text, _OPERAND, lambda _: f"%{rng.randrange(6)}", rng)
        elif kind == 4:
            text = _replace(text, _DTYPE, lambda _: rng.choice(_DTYPES), rng)
        elif kind <= 6:
            text = _replace(text, _TUPLE, lambda old: _other_tuple(old, rng), rng)
        elif kind == 7:
            text = _replace(text, _VALUE, lambda _: rng.choice(VALUES), rng)
        elif kind == 8:
            text = _replace(text, _NAME, lambda _: rng.choice(names), rng)
        elif kind == 9:
            text = _replace(text, _TRUTH, lambda _: rng.choice(("True", "False", "None")), rng)
        elif kind == 10:
            text = _everywhere(text, rng)
        else:
            pattern, others = rng.choice(((_PARAMETER, [""]), (_TEXT, VALUES), (_TYPE, types)))
            text = _replace(text, pattern, lambda _, others=others: rng.choice(others), rng)
    return text


def retyped(graph: Graph) -> Graph:
    """The graph with the types that its ops give, as far as they give some."""
    out = Graph([], [*graph.inputs], [*graph.returns])
    for node in graph.nodes:
        params = {
            name: retyped(value) if isinstance(value, Graph) else value
            for name, value in node.params.items()
        }
        try:
            types = [None if i is None else out.nodes[i].type for i in node.operands]
            if node.op is ops.pick:
                found = types[0][params["index"]]
            else:
                found = node_type(node.op, types, params)
            found = found if isinstance(found, ArrayType | tuple) else node.type
        except Exception:  # a rule may stumble over anything here; then the old type stays
            found = node.type
        out.append(Node(node.op, node.operands, params, found, node.line))
    return out


def mutant(number: int) -> str | None:
    """Mutant number i, if it can be written at all."""
    rng = random.Random(number)
    seed = text = rng.choice(seeds())
    while text == seed:
        text = mutate(seed, rng)
    if rng.random() < 0.5:
        try:
            return show(retyped(GraphReader(text).program()))
        except Exception:  # types that are none, and cannot be written
            return None
    return text


# The judgement.


def _largest(graph: Graph, sizes: dict[str, int]) -> int:
    found = [0]
    for node in graph.nodes:
        for each in node.type if isinstance(node.type, tuple) else (node.type,):
            shape = substitute(each.shape, sizes)
            found.append(int(np.prod([max(int(n), 0) for n in shape], dtype=object)))
        found += [int(n) for n in (node.params.get("length"),) if isinstance(n, int)]
    return max([*found, *(_largest(body, sizes) for body in graph.subgraphs())])


def _names(graph: Graph) -> set[str]:
    sizes = [n for t in graph.input_types() for n in t.shape if isinstance(n, Dim)]
    return {name for n in sizes for name in n.names}


def _draw(found: ArrayType, rng: np.random.Generator) -> Any:
    if found.dtype.kind == "f":
        return rng.uniform(0.1, 2.0, found.shape).astype(found.dtype)
    return rng.integers(0, 2, found.shape).astype(found.dtype)


def _run(what: Any, *args: Any) -> list[Any] | Exception:
    """What it returns, or how it is refused."""
    with redirect_stdout(io.StringIO()), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [np.asarray(x) for x in what(*args)]
        except REFUSALS as error:
            return error


def judge(text: str) -> str:
    """What became of a mutant; raises Wrong where that is no good."""
    try:
        graph = wg.Graph.from_text(text)
    except CheckError:
        return "refused"
    except Exception as error:
        raise Wrong(f"reading raised {type(error).__name__}: {error}") from error
    rng = np.random.default_rng(0)
    sizes = {name: int(rng.integers(2, 6)) for name in sorted(_names(graph))}
    if not graph.returns or _largest(graph, sizes) > LARGEST:
        return "not run"
    types = [t.with_shape(substitute(t.shape, sizes)) for t in graph.input_types()]
    if any(int(n) < 0 for t in types for n in t.shape):
        return "not run"
    args = tuple(_draw(t, rng) for t in types)
    expected = _run(lambda *xs: replay(graph, xs), *args)
    if isinstance(expected, Exception):  # of something that nobody uses, which is not computed
        expected = _run(lambda *xs: replay(dce(graph), xs), *args)
    for fused in "10":
        with mock.patch.dict(os.environ, {"WENGERT_FUSE": fused}):
            found = _run(_compiled, graph, args, sizes)
        _require_alike(graph, args, sizes, found, expected)
    return "refused when run" if isinstance(expected, Exception) else "right"


def _compiled(graph: Graph, args: Sequence[Any], sizes: dict[str, int]) -> list[Any]:
    structure = tree.flatten(tuple(args))[1]
    returned = tree.flatten([np.zeros(())] * len(graph.returns))[1]
    names = tuple(f"x{i}" for i in range(len(args)))
    signature = Signature(names, structure, tuple(range(len(args))), returned)
    found: list[Any] = Executable(graph, signature, sizes, threads=1)(*args)
    return found


def _require_alike(
    graph: Graph, args: Sequence[Any], sizes: dict[str, int], found: Any, expected: Any
) -> None:
    if isinstance(found, Exception) or isinstance(expected, Exception):
        unsuited = isinstance(found, ShapeError) and graph.has_dims  # also in a branch not taken
        if unsuited or (isinstance(found, Exception) and isinstance(expected, Exception)):
            return
        raise Wrong(f"compiled: {found!r}, eager: {expected!r}")
    have, want = [[type_of(x) for x in each] for each in (found, expected)]
    if have != want:
        raise Wrong(f"compiled gives {have}, eager {want}")
    if all(bits(x) == bits(y) for x, y in zip(found, expected, strict=True)):
        return
    with redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        allowed = scatter(with_sizes(graph, sizes), list(args), expected)
    for x, y, width in zip(found, expected, allowed, strict=True):
        if (distance(x, y) > width).any():
            raise Wrong(f"compiled gives {x}, eager {y}")


# Many of them.


def run_chunk(
    first: int, count: int, current: Path | None = None
) -> tuple[Counter[str], list[str]]:
    """Judge some mutants in this process; the present one is written to `current`."""
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    for number in range(first, first + count):
        text = mutant(number)
        if text is None:
            outcomes["no graph"] += 1
            continue
        if current is not None:
            current.write_text(f"mutant {number}\n{text}")
        try:
            outcomes[judge(text)] += 1
        except Exception as error:
            more = "" if isinstance(error, Wrong) else traceback.format_exc(limit=-4)
            wrong.append(f"mutant {number}: {type(error).__name__}: {error}\n{more}\n{text}")
    return outcomes, wrong


def run_process(first: int, count: int) -> list[str]:
    """The same in a process of its own; what is wrong, the crash of the process too."""
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        current = Path(folder) / "current"
        command = [sys.executable, "-m", "fuzz.mutating", "--first", str(first)]
        command += ["--mutations", str(count), "--current", str(current)]
        env = os.environ | {"WENGERT_CACHE": "0", "PYTHONFAULTHANDLER": "1"}
        env["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
        if done.returncode == 0:
            return [each for each in done.stdout.split("\0") if each.strip()]
        told = f"exit code {done.returncode}\n{done.stderr[-3000:]}\n"
        return [told + (current.read_text() if current.exists() else "")]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz.mutating", description=__doc__)
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1, help="another seed, other mutants")
    parser.add_argument("--chunk", type=int, default=500, help="mutants per process")
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--current", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ["WENGERT_CACHE"] = "0"
    if given.current is not None:
        outcomes, wrong = run_chunk(given.first, given.mutations, given.current)
        print("\0".join(wrong))
        print(dict(outcomes), file=sys.stderr)
        return 0
    first = given.seed * 10**7 if given.first is None else given.first
    failed = 0
    for start in range(first, first + given.mutations, given.chunk):
        for each in run_process(start, min(given.chunk, first + given.mutations - start)):
            failed += 1
            print(f"{'=' * 80}\n{each}", flush=True)
    print(f"{failed} wrong")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
