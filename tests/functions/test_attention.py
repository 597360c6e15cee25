"""Attention: values and gradients against JAX, masks, and what is neither read nor kept."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sequence_references as reference

import wengert as wg
from functions.sequence_gradients import random, require_gradients
from wengert.codegen.cost.counts import program_cost
from wengert.errors import MaskWarning, ShapeError, SizeWarning

BATCH = 2
MASKS = {
    "none": lambda *_: None,
    "bools": lambda t, k: random(BATCH, 1, t, k) < 0.7,
    "heads": lambda t, k: random(4, 1, k) < 0.7,
    "floats": lambda t, k: random(t, k),
}


@pytest.mark.parametrize(
    ("time", "keys", "shared", "mask", "causal"),
    [
        (1, 1, 4, "none", True),
        (3, 2, 2, "floats", False),
        (17, 20, 1, "bools", True),
        (270, 270, 2, "none", True),
        (130, 5, 4, "heads", False),
        (130, 131, 2, "floats", True),
    ],
)
def test_attention(time, keys, shared, mask, causal):
    given = MASKS[mask](time, keys)
    if given is not None and given.dtype == bool:
        given[..., 0] = True
    options = {"mask": given, "causal": causal, "scale": 0.3 if shared == 1 else None}
    args = (random(2, 4, time, 3), random(2, shared, keys, 3), random(2, shared, keys, 2))
    require_gradients(
        lambda a: wg.attention(*a, **options), lambda a: reference.attention(*a, **options), args
    )


def test_queries_that_may_look_nowhere_give_zeros():
    q, k = random(1, 2, 3, 4), random(1, 2, 5, 4)
    mask = np.array([[False], [True], [True]])
    assert not wg.attention(q, k, k, mask)[:, :, 0].any()
    for g in wg.grad(lambda q, k: wg.sum(wg.attention(q, k, k, mask) ** 2), argnums=(0, 1))(q, k):
        assert np.isfinite(g).all()
        assert g.any()


def test_keys_that_nobody_sees_yet_are_not_read():
    """Nor their values: 0 times NaN would be NaN."""
    q, k, v = (random(1, time, 3, seed=time) for time in (300, 310, 310))
    v[:, 138:] = np.nan  # the first block of queries stands at keys 10 to 137

    def first(q: Any, k: Any, v: Any) -> Any:
        return wg.attention(q, k, v, causal=True)[:, :128]

    seen = first(q, k, np.nan_to_num(v))
    for way in (first, wg.compile(first)):
        np.testing.assert_allclose(way(q, k, v), seen, rtol=1e-12)


def test_keys_that_nobody_sees_yet_cost_nothing_backwards():
    x = random(1, 512, 4)  # four blocks of queries, which see 1, 2, 3 and 4 blocks of keys
    flops = {}
    for causal in (True, False):

        def loss(x: Any, causal: bool = causal) -> Any:
            return wg.sum(wg.attention(x, x, x, causal=causal))

        program = wg.compile(wg.grad(loss)).executable(x).program
        flops[causal] = program_cost(program, {}).flops
    assert flops[True] < 0.7 * flops[False]


def test_no_scores_of_all_rows_are_kept():
    """What the way back of long sequences needs grows with time, not with its square."""
    sizes = []
    for time in (512, 1024):
        x = np.ones((1, 1, time, 2), np.float32)
        loss = wg.compile(wg.grad(lambda x: wg.sum(wg.attention(x, x, x, causal=True))))
        loss(x)
        sizes.append(loss.executable(x).memory.arena.nbytes)
    assert sizes[1] < 2.5 * sizes[0]


# Masks of floats.


def causal(dtype):
    return np.tril(np.ones((3, 3))).astype(dtype)


Q = np.random.default_rng(0).normal(size=(2, 3, 4))  # (heads, time, size)
AS_FLOATS = {
    "an array": lambda: wg.attention(Q, Q, Q, mask=causal(float)),
    "a constant": lambda: wg.compile(lambda q: wg.attention(q, q, q, mask=causal(float)))(Q),
    "converted": lambda: wg.compile(
        lambda q, mask: wg.attention(q, q, q, mask=mask.astype(np.float64)[None])
    )(Q, causal(bool)),
    "an argument": lambda: wg.compile(lambda q, mask: wg.attention(q, q, q, mask[None]))(
        Q, causal(float)
    ),
    "an argument of a step": lambda: wg.TrainStep(
        lambda w, q, mask: wg.mean(wg.attention(q * w, q, q, mask[:, None, None])),
        np.ones(()),
        wg.optim.SGD(0.1),
    )(np.stack([Q] * 5), np.ones((5, 3)) - np.eye(5, 3)),
}


@pytest.mark.parametrize("way", AS_FLOATS)
def test_a_mask_of_floats_that_are_truths_is_named(way):
    with pytest.warns(MaskWarning, match=r"mask\.astype\(bool\)"):
        AS_FLOATS[way]()


def test_masks_that_hide_or_add_are_let_pass():
    hidden = np.where(causal(bool), 0.0, -np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = wg.attention(Q, Q, Q, mask=causal(bool))
        assert np.allclose(wg.attention(Q, Q, Q, mask=hidden), found)
        wg.attention(Q, Q, Q, mask=np.zeros((3, 3)))


LATER = np.triu(np.ones((3, 3)), 1).astype(bool)  # what PyTorch hides
HIDING = {
    "an array": lambda: wg.attention(Q, Q, Q, mask=LATER),
    "with axes": lambda: wg.attention(Q, Q, Q, mask=LATER[None]),
    "a constant": lambda: wg.compile(lambda q: wg.attention(q, q, q, mask=LATER))(Q),
    "in a layer": lambda: wg.nn.MultiheadAttention(4, 2)(Q, mask=LATER),
}


@pytest.mark.parametrize("way", HIDING)
def test_a_mask_that_is_true_where_it_should_hide_is_named(way):
    with pytest.warns(MaskWarning, match="true where a query may look.* write ~mask"):
        HIDING[way]()


def test_masks_with_hidden_rows_are_let_pass():
    """Padding hides whole rows, and a row may look only at those before it."""
    real = np.array([[True, True, False], [True, False, False]])
    padding = real[:, None, :, None] & real[:, None, None, :]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = np.stack([Q, Q])
        for mask in (padding, padding[0], np.tril(np.ones((3, 3)), -1).astype(bool), ~LATER):
            wg.attention(x, x, x, mask=mask)
        wg.attention(Q[:, :1], Q, Q, mask=np.array([[False, True, True]]))


LENGTHS = np.array([3, 2, 1])
PADDING = np.arange(3) >= LENGTHS[:, None]  # true where torch hides
ROWS = np.stack([Q] * 3)


def attend(x, mask):
    return wg.attention(x, x, x, mask=mask[:, None, None])


def behind(x, lengths):
    """A mask that the program computes."""
    return wg.arange(x.shape[-2]) >= lengths[:, None]


def in_checkpoint(x, lengths):
    return wg.checkpoint(attend)(x, behind(x, lengths))


def in_scan(x, lengths):
    mask = behind(x, lengths)
    return wg.scan(lambda h, _: (attend(h, mask), 0.0), x, np.zeros(2))[0]


def trained(masked):
    """A step whose batches have an open size."""
    return wg.TrainStep(
        lambda w, x, given: wg.mean(attend(x * w, masked(x, given))), np.ones(()), wg.optim.SGD(0.1)
    )


INVERTED = {
    "of lengths": lambda: wg.compile(lambda x, n: attend(x, behind(x, n)))(ROWS, LENGTHS),
    "in a step": lambda: trained(behind)(ROWS, LENGTHS),
    "in a run": lambda: trained(behind).run(ROWS, LENGTHS, batch_size=3),
    "of tokens": lambda: trained(lambda x, tokens: tokens == 0)(ROWS, np.where(PADDING, 0, 7)),
    "of rows of zeros": lambda: trained(lambda x, rows: ~wg.any(rows != 0, axis=-1))(
        ROWS, np.where(PADDING[..., None], 0.0, np.ones(4))
    ),
    "in a checkpoint": lambda: wg.compile(in_checkpoint)(ROWS, LENGTHS),
    "in a scan": lambda: wg.compile(in_scan)(ROWS, LENGTHS),
    "an array": lambda: wg.attention(ROWS, ROWS, ROWS, mask=PADDING[:, None, None]),
    "an argument": lambda: wg.compile(lambda x, m: wg.attention(x, x, x, mask=m[:, None, None]))(
        ROWS, PADDING
    ),
}


@pytest.mark.parametrize("way", INVERTED)
def test_a_mask_of_padding_that_hides_a_whole_row_is_named(way):
    with pytest.warns(MaskWarning, match="only at the end of rows.*write ~mask") as found:
        INVERTED[way]()
    assert len(found) == 1


SLIPPED = {
    "of lengths": lambda: trained(lambda x, n: ~behind(x, n) * -1e9)(ROWS, LENGTHS),
    "of bools": lambda: trained(lambda x, seen: seen * -1e9)(ROWS, ~PADDING),
    "of floats": lambda: trained(lambda x, seen: (1.0 - seen) * 0.0 + seen * -1e9)(
        ROWS, 1.0 - PADDING
    ),
    "an argument": lambda: trained(lambda x, mask: mask)(ROWS, np.where(PADDING, 0.0, -1e9)),
    "an array": lambda: wg.attention(ROWS, ROWS, ROWS, mask=(~PADDING * -1e9)[:, None, None]),
}


@pytest.mark.parametrize("way", SLIPPED)
def test_an_added_mask_whose_sign_has_slipped_is_named(way):
    with pytest.warns(MaskWarning, match="shows only the end of rows.*pass these bools") as found:
        SLIPPED[way]()
    assert len(found) == 1


def test_added_masks_that_are_right_are_let_pass():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for masked in (
            lambda x, n: behind(x, n) * -1e9,
            lambda x, n: wg.where(behind(x, n), -1e9, 0.0),
            lambda x, n: wg.arange(3) * -0.1 * n[:, None],
        ):
            trained(masked)(ROWS, LENGTHS)


def test_rows_of_padding_alone_and_padding_in_front_are_let_pass():
    empty = np.arange(3) < np.array([[3], [2], [0]])
    behind = np.arange(3) >= np.array([[0], [2], [3]])  # padding comes first, one row is empty
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mask in (~PADDING, empty, behind, PADDING[1:]):
            x = ROWS[: len(mask)]
            wg.attention(x, x, x, mask=mask[:, None, None])


def test_computed_masks_that_are_right_or_may_be_are_let_pass():
    """Those of keys that are there, and of padding in front, which may be meant where no row is of
    full length. What takes products is not computed for a warning.
    """
    right = {
        "seen": lambda x, n: wg.arange(3) < n[:, None],
        "in front": lambda x, n: wg.arange(3) >= 3 - n[:, None],
        "short": lambda x, n: wg.arange(3) >= wg.minimum(n, 2)[:, None],
        "products": lambda x, n: (x[:, 0] @ wg.ones((4,)) > 1e9) | behind(x, n),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for masked in right.values():
            trained(masked)(ROWS, LENGTHS)


def test_a_computed_mask_is_told_where_recording_began_again():
    """A size that Python needs as a number ends the first attempt to record."""

    def loss(w, x, lengths):
        out = attend(x * w, behind(x, lengths))
        return wg.mean(out) / float(x.shape[0])

    step = wg.TrainStep(loss, np.ones(()), wg.optim.SGD(0.1))
    with pytest.warns((MaskWarning, SizeWarning)) as found:
        step(ROWS, LENGTHS)
    assert [each.category for each in found] == [SizeWarning, MaskWarning]


def test_masks_of_fewer_axes_are_told_what_to_write():
    x = np.ones((5, 2, 3, 4))  # (batch, heads, time, size)
    with pytest.raises(ShapeError, match=r"write mask\[:, None, None, :\]"):
        wg.attention(x, x, x, mask=np.ones((5, 3), bool))
    with pytest.raises(ShapeError, match=r"write mask\[:, None\]\."):
        wg.attention(x, x, x, mask=np.ones((5, 3, 3), bool))
    with pytest.raises(ShapeError, match=r"Reshape it"):
        wg.attention(x, x, x, mask=np.ones((5, 7), bool))
