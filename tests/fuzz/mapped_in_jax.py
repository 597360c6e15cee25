"""Every sample of every op for many examples, against JAX's own vmap in float64.

    cd tests && python -m fuzz.mapped_in_jax [--compiled] [OP …]

Values, and gradients for drawn cotangents, with all operands mapped and with each of them alone.
They must agree to 1e-10 of the largest number; where an op's reference itself is less exact, to the
op's own tolerance, and the op is named. Some ten minutes for the whole table.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from table.batches import BatchOfCalls, batches
from table.calls import is_float, outputs, pullback, random_for, random_like
from table.closeness import require_close
from table.ops import OPS, has_samples
from table.references import NO_REFERENCE, reference

import wengert as wg
from wengert.core.op import Op

CLOSE = 1e-10


def theirs(f: Callable[..., Any], batch: BatchOfCalls, operands: Any, cotangents: Any) -> Any:
    """JAX's values and gradients of one call for many examples."""
    call, axes = batch.call, tuple(0 if mapped else None for mapped in batch.mapped)

    def alone(*given: Any) -> Any:
        out = f(list(given), **call.params) if call.op.call.variadic else f(*given, **call.params)
        return tuple(out) if isinstance(out, tuple | list) else (out,)

    def at_once(*primals: Any) -> Any:
        found = jax.vmap(alone, in_axes=axes)(*_put(batch, operands, primals))
        return [y for y in found if y.dtype.kind == "f"], found

    primals = [x for x in operands if is_float(x)]
    if not cotangents:
        return at_once(*primals)[1], []
    _, pull, found = jax.vjp(at_once, *primals, has_aux=True)
    return found, list(pull(cotangents))


def ours(batch: BatchOfCalls, operands: Any, cotangents: Any) -> Any:
    """The same by wg.vmap."""

    def at_once(*primals: Any) -> list[Any]:
        found = batch.at_once(*_put(batch, operands, primals))
        return [y for y in found if is_float(y)]

    primals = [x for x in operands if is_float(x)]
    found = outputs(batch.at_once(*operands))
    return found, pullback(at_once, primals, cotangents) if cotangents else []


def _put(batch: BatchOfCalls, operands: Any, primals: Any) -> list[Any]:
    """The operands with the floats among them replaced."""
    fresh = iter(primals)
    return [next(fresh) if is_float(x) else x for x in operands]


def check_op(op: Op, compiled: bool) -> tuple[int, float]:
    """How many calls were compared, and how near they had to be."""
    f = reference(op)
    assert f is not None, f"{op.name}: no reference"
    every = list(batches(op))
    rng = random_for(op, 12)
    rows = [(batch.operands, _cotangents(batch, rng)) for batch in every]

    def all_of_ours(rows: Any) -> Any:
        return [ours(batch, *row) for batch, row in zip(every, rows, strict=True)]

    def all_of_theirs(rows: Any) -> Any:
        return [theirs(f, batch, *row) for batch, row in zip(every, rows, strict=True)]

    expected = jax.jit(all_of_theirs)(rows)
    found = (wg.compile(all_of_ours) if compiled else all_of_ours)(rows)
    for batch, mine, other in zip(every, found, expected, strict=True):
        for what, x, y in zip(("value", "gradient"), mine, other, strict=True):
            told = f"{op.name} {batch.mapped}, {what}; {batch.call.program()}\n"
            require_close(x, y, _allowed(op), told)
    return len(every), _allowed(op)


def _allowed(op: Op) -> float:
    return max(CLOSE, op.tolerance)


def _cotangents(batch: BatchOfCalls, rng: np.random.Generator) -> list[Any]:
    if batch.call.op.opaque is not None or not any(is_float(x) for x in batch.operands):
        return []
    return random_like(rng, [y for y in batch.at_once(*batch.operands) if is_float(y)])


def chosen(names: list[str]) -> Iterator[Op]:
    for op in OPS:
        if has_samples(op) and op.name not in NO_REFERENCE and (not names or op.name in names):
            yield op


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--compiled", action="store_true", help="compile ours too")
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")
    calls, wide, wrong = 0, [], []
    for op in chosen(given.ops):
        try:
            count, allowed = check_op(op, given.compiled)
        except Exception as error:
            wrong.append(op.name)
            print(f"{op.name}: {type(error).__name__}: {error}", flush=True)
            continue
        calls += count
        wide += [f"{op.name} {allowed:g}"] if allowed > CLOSE else []
    print(f"{calls} calls agree; less exact references: {', '.join(wide) or 'none'}")
    if wrong:
        raise SystemExit(f"not equal: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
