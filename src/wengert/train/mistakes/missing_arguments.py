"""Arguments that a loss or a bound function needs and was not given: they came as one, in a tuple,
a list or a dict, or the step would give them under another name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wengert.core import tree

_KEYS = frozenset(("generator", "key", "prng", "prng_key", "rng_key"))
_AVERAGES = frozenset(
    ("average", "averages", "ema", "ema_model", "target", "target_model", "target_params")
)


def not_all_given(
    what: str,
    names: Sequence[str],
    needed: Sequence[str],
    args: Sequence[Any],
    first: int,
    averages: bool,
) -> TypeError | None:
    """The refusal of a call of a loss or a function with too few arguments; None where it was
    given all by position. It has the parameters `names`, of which `needed` have no default, and was
    given `args`, of which the batch begins at `first`.
    """
    missing = [name for name in needed if name not in names[: len(args)]]
    if not missing:
        return None
    told = f"TrainStep: the {what} was given "
    if len(args) > first:
        told += ", ".join(names[first : len(args)])
        together = _given_together(what, names[len(args) - 1 :], missing, args[-1])
        if together is not None:
            return TypeError(f"{told} as a {together}")
        told += ", and "
    told += f"no {missing[0]}"
    for name in (*missing, *needed[first:]):
        if name in _KEYS:
            return TypeError(
                f"{told}; a step gives random numbers to a parameter named rng. Write rng in the "
                f"place of {name}, and rng.normal(shape), or pass {name}."
            )
        if averages and name in _AVERAGES:
            return TypeError(
                f"{told}; a step gives the averaged weights to a parameter named averaged. Write "
                f"averaged in the place of {name}, or pass {name}."
            )
    return TypeError(f"{told}; it has no default. Pass {missing[0]}, or give it a default.")


def _given_together(what: str, names: Sequence[str], missing: Sequence[str], x: Any) -> str | None:
    """How to pass what came as one argument, the last one, if it holds those that are missing: it
    stands for the first of these names.
    """

    def as_in(given: str) -> str:
        return f", as in step({given})" if what == "loss" else ""

    if isinstance(x, Mapping) and tree.leaves(x):
        wanted = [names[0], *missing]
        if all(name in x for name in wanted):
            repair = f"Write **batch in its place{as_in('**batch')}"
        elif len(x) == len(wanted):
            each = ", ".join(f"{k}=batch[{v!r}]" for k, v in zip(wanted, x, strict=True))
            repair = f"Write {each} in its place"
        else:
            return None
    elif not isinstance(x, list | tuple) or not tree.leaves(x):
        return None
    elif isinstance(x[0], list | tuple):
        repair = f"Pass the batches one by one, for x, y in batches{as_in('x, y')}"
    elif 1 + len(missing) <= len(x) <= len(names):
        repair = f"Write *batch in its place{as_in('*batch')}"
    else:
        return None
    kind = "dict" if isinstance(x, Mapping) else type(x).__name__
    return f"{kind} of {len(x)}, and no {missing[0]}; a batch is several arguments. {repair}."
