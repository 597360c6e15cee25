"""Agreement: whether all ranks have the same program, settings, versions and numbers, and if not,
which of them differ in what.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import llvmlite
import numpy as np

from wengert.core.graph import Graph
from wengert.core.text.show import show
from wengert.core.words.warn import warn_user
from wengert.errors import RankError, RankWarning
from wengert.runtime.caching.cache_key import Unkeyed, graph_parts
from wengert.train.checkpoints.checkpoint import Checkpoint
from wengert.train.checkpoints.fingerprint import fingerprint
from wengert.train.engine import Engine
from wengert.train.ranked.ranks import Ranks

Facts = Mapping[str, str]  # what is compared, by what messages call it


def versions() -> Facts:
    """What the bits of a rank depend on beside its program."""
    return {
        "the version of wengert": sys.modules["wengert"].__version__,
        "the version of llvmlite": llvmlite.__version__,
        "the version of numpy": np.__version__,
    }


def facts_of(engine: Engine, ranks: Ranks) -> Facts:
    """What must be the same on all ranks before a step."""
    plan = engine.plan
    settings = {
        "accumulate": plan.accumulate,
        "nonfinite": engine.nonfinite,
        "seed": engine.seed,
        "has_aux": plan.has_aux,
        "cast": str(plan.cast),
        "strict": plan.strict,
        "compiled": engine.compiled,
        "micro_batches": ranks.micro_batches,
        "state_rows": ranks.state_rows,
        "reduction": ranks.reduction,
        **engine.limits,
    }
    facts = {
        **versions(),
        **{f"the setting {name}": repr(value) for name, value in settings.items()},
    }
    for group in plan.groups:
        if group.optimizer is not None:
            name = "the optimizer" if len(plan.groups) == 1 else f"the optimizer of {group.glob!r}"
            kept = type(group.optimizer).__name__, sorted(group.optimizer.saved().items(), key=str)
            facts[name] = _digest(kept)
    storage = plan.storage
    model = [
        (paths, x.shape if x is not None else (), str(getattr(x, "dtype", "")))
        for paths, x in zip(storage.paths, storage.leaves, strict=True)
    ]
    facts["the form of the model"] = _digest((model, str(storage.structure)))
    parts = Checkpoint(engine).parts()
    facts["the state of the step (parameters, what optimizers keep, calls)"] = fingerprint(parts)
    return facts


def program_digest(graph: Graph) -> str:
    """What tells a program from others, wherever its files lie."""
    try:
        return _digest(sorted(graph_parts(graph).items()))
    except Unkeyed:
        return hashlib.sha256(show(graph).encode()).hexdigest()


def require_same(by: str, told: Sequence[Facts | None], may_miss: bool = False) -> None:
    """Refuse ranks that differ in something; those that give no facts are left out. With
    `may_miss` that goes for each single fact.
    """
    names = dict.fromkeys(name for facts in told if facts is not None for name in facts)
    for name in names:
        values = {
            rank: facts.get(name)
            for rank, facts in enumerate(told)
            if facts is not None and (name in facts or not may_miss)
        }
        if len(set(values.values())) > 1:
            raise RankError(_difference(by, name, values))


def warn_of_one_batch(checksums: Sequence[int | None]) -> None:
    """Warn where all ranks were given the same rows, which each of them was to have a part of."""
    if len(checksums) > 1 and checksums[0] is not None and len(set(checksums)) == 1:
        count = len(checksums)
        warn_user(
            f"TrainStep: given the same rows on all {count} ranks; in single calls each rank gives "
            f"its own part of the batch, and these rows are computed {count} times. Write "
            "step(*wg.parallel.shard(ranks, x, y)), or step.run, which takes the whole data.",
            RankWarning,
        )


def _difference(by: str, name: str, values: Mapping[int, str | None]) -> str:
    usual = Counter(values.values()).most_common()
    # The one that most ranks have, or where no one has, that of the first rank.
    most = usual[0][0] if usual[0][1] > usual[1][1] else values[min(values)]
    others = [rank for rank, value in values.items() if value != most]
    other, expected = values[others[0]], most
    readable = all(value is not None and len(value) < 40 for value in (other, expected))
    what = f" ({other}, and {expected} elsewhere)" if readable else ""
    repair = "Start all of them with the same script, seeds and files."
    if name.endswith("the data"):
        repair = "Give all of them the whole data, of which each takes its own rows."
    elif name in versions():
        repair = "Install one version on all machines, and start them again."
    return (
        f"{by}: {name} on rank{'s' * (len(others) > 1)} {', '.join(map(str, others))} "
        f"differs from that on the other ranks{what}; all ranks "
        "run one program on the same model with the same settings, and only rows of the batch "
        f"differ. {repair}"
    )


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()
