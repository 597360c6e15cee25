"""A training step in words: what is trained, by what, what no gradient reaches, and what the loss
does not read.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.core import tree
from wengert.optim.lifecycle.saving import shown
from wengert.train.engine import Engine
from wengert.train.segments import ModelParameter, Segment

SHOWN = 40  # parameters that are listed
SHOWN_UNREAD = 5  # batch arguments


def described(engines: Sequence[Engine], several: bool) -> str:
    """The text of `repr(step)`; of the members of an ensemble, that of the first, with optimizers
    that stand for those of all.
    """
    engine, plan = engines[0], engines[0].plan
    storage = plan.storage
    trained = sum(segment.size for segment in storage.trained)
    frozen = sum(segment.size for segment in storage.frozen)
    name = getattr(plan.loss, "__name__", type(plan.loss).__name__)
    head = f"TrainStep({name}, {trained:,} parameters"
    head += f" and {frozen:,} frozen" if frozen else ""
    head += f", {engine.calls:,} calls)"
    optimizers = [
        f"  {group.glob!r}: {text}" if several else f"  {text}"
        for group, text in zip(plan.groups, _optimizers(engines), strict=True)
    ]
    rows = [_row(engine, segment, p) for segment in storage.segments for p in segment.parameters]
    rows += [
        (storage.paths[place][0], f"{x.dtype.name}{_shape(x.shape)}", f"{x.size:,}", "", "data")
        for place, x in storage.data.items()
    ]
    order = {path[0]: place for place, path in enumerate(storage.paths)}
    rows.sort(key=lambda row: order[row[0]])
    rows += [
        (path, repr(x), "", "", "static, a Python number: not trained")
        for path, x in tree.floats(storage.tree(storage.leaves))
    ]
    lines = _table(rows[:SHOWN])
    if len(rows) > SHOWN:
        lines.append(f"  and {len(rows) - SHOWN} more")
    if engine.unread:
        more = f" and {len(engine.unread) - SHOWN_UNREAD} more"
        names = ", ".join(engine.unread[:SHOWN_UNREAD])
        lines.append(
            f"  not read by the loss: {names}{more if len(engine.unread) > SHOWN_UNREAD else ''}"
        )
    return "\n".join([head, *optimizers, *lines])


def _optimizers(engines: Sequence[Engine]) -> list[str]:
    """The optimizer of each group, in words."""
    texts = []
    for groups in zip(*(engine.plan.groups for engine in engines), strict=True):
        each = [group.optimizer for group in groups]
        alike = len({repr(optimizer) for optimizer in each}) == 1
        texts.append(repr(each[0]) if alike else shown(*each))
    return texts


def _row(engine: Engine, segment: Segment, p: ModelParameter) -> tuple[str, str, str, str, str]:
    """Path, type, size, the glob that took it where there are several, and what else there is to
    say.
    """
    notes = []
    if segment.gradients is None:
        notes.append("frozen")
    if p.path in engine.unreached:
        notes.append("no gradient reaches it")
    if len(p.paths) > 1:
        notes.append(f"tied to {', '.join(p.paths[1:])}")
    kind = f"{p.dtype.name}{_shape(p.shape)}"
    groups = engine.plan.groups
    glob = repr(groups[segment.group].glob) if len(groups) > 1 else ""
    return p.path, kind, f"{p.size:,}", glob, ", ".join(notes)


def _shape(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    lines = []
    for path, kind, count, glob, note in rows:
        columns = [f"{path:{widths[0]}}", f"{kind:{widths[1]}}", f"{count:>{widths[2]}}"]
        columns += [f"{glob:{widths[3]}}"] if widths[3] else []
        lines.append(f"  {'  '.join([*columns, note])}".rstrip())
    return lines
