"""Parameters that do not fit their operands are refused by the check, op by op: none of them may
reach a compiler that believes them.
"""

import numpy as np
import pytest
from fuzz.mutating import seeds

import wengert as wg
from wengert.core.check import check
from wengert.core.text.show import read
from wengert.errors import CheckError, ShapeError
from wengert.interpret.trace import trace_flat

X = 'graph(%0: float64[2, 3] "x") {{ %1: {} return %1 }}'
XS = 'graph(%0: float64[2, 3] "x", %1: {} "y") {{ %2: {} return %2 }}'

NODES = {  # of one operand, float64[2, 3]; the types are those the rules gave
    "another count": ("float64[7]", "reshape(%0, shape=(7,))", "must hold as many"),
    "fewer": ("float64[5]", "reshape(%0, shape=(5,))", "must hold as many"),
    "open size": ("float64[2, 3]", "reshape(%0, shape=(-1, 3))", "has shape=(-1, 3); in canonical"),
    "no permutation": ("float64[3, 3]", "permute_dims(%0, axes=(1, 1))", "each axis may appear"),
    "an axis left out": ("float64[3]", "permute_dims(%0, axes=(1,))", "each axis must appear"),
    "slice beyond": (
        "float64[2, 3]",
        "slice_axes(%0, start=(1, 0), size=(2, 3), step=(1, 1))",
        "all of it must lie inside",
    ),
    "slice that stands": (
        "float64[2, 3]",
        "slice_axes(%0, start=(0, 0), size=(2, 3), step=(0, 1))",
        "all of it must lie inside",
    ),
    "half a slice": (
        "float64[2, 3]",
        "slice_axes(%0, start=(0, 0), size=(2, 3), step=(1.5, 1))",
        "cannot be interpreted as an integer",
    ),
    "negative slice": (
        "float64[2, 3]",
        "slice_axes(%0, start=(0, 0), size=(-2, 3), step=(1, 1))",
        "sizes must not be negative",
    ),
    "slices of one axis": (
        "float64[2]",
        "slice_axes(%0, start=(0,), size=(2,), step=(1,))",
        "refused by its own type rule",
    ),
    "placed beyond": (
        "float64[2, 3]",
        "place(%0, shape=(2, 3), start=(1, 0), step=(1, 1))",
        "all of it must lie inside",
    ),
    "broadcast": ("float64[4, 3]", "broadcast_to(%0, shape=(4, 3))", "must equal the target's"),
    "negative pad": (
        "float64[1, 3]",
        "pad(%0, pad_width=((-1, 0), (0, 0)), constant_values=0.0)",
        "sizes must not be negative",
    ),
    "pad of one axis": (
        "float64[2, 3]",
        "pad(%0, pad_width=((0, 0),), constant_values=0.0)",
        "in canonical form that is ((0, 0), (0, 0))",
    ),
    "axes out of order": (
        "float64[]",
        "sum(%0, axes=(1, 0), keepdims=False)",
        "has axes=(1, 0); in canonical form that is (0, 1)",
    ),
    "no truth": ("float64[2]", "sum(%0, axes=(1,), keepdims=0)", "has keepdims=0; in canonical"),
    "no axis": ("float64[2, 3]", "softmax(%0, axis=True)", "has axis=True; in canonical form"),
    "axis 2": ("float64[2, 3]", "softmax(%0, axis=2)", "at most 2 axes"),
    "None for a truth": (
        "int64[2, 3]",
        "argsort(%0, axis=0, descending=None, stable=True)",
        "has descending=None; in canonical form that is False",
    ),
    "no diagonal": ("float64[2, 3]", "tril(%0, k=0.0)", "has k=0.0; in canonical form that is 0"),
    "composite's type": (
        "float64[2, 3]",
        "vector_norm(%0, axis=(0,), keepdims=False, ord=2.0)",
        "its rule gives float64[3]",
    ),
    "no number": ("float64[2, 3]", 'shift(%0, axis=0, step=1, fill="a")', "could not convert"),
    "no step": ("float64[2, 3]", "shift(%0, axis=0, step=1.5, fill=0)", "cannot be interpreted"),
    "no name": ("bool[0]", "debug(%0, name=3)", "has name=3; in canonical form that is '3'"),
    "no index": ("float64[2, 3]", "gather(%0, axis=0)", "no indices were given"),
    "more": ("float64[2, 3]", "negative(%0, axis=0)", "has parameters ['axis']; its definition"),
    "filled with text": (
        "float64[2]",
        'full(shape=(2,), fill_value="a", dtype=float64)',
        "a number is needed",
    ),
    "no array": ("float32[]", "constant(value=float32(0.5))", "in canonical form that is array"),
    "negative count": ("float64[]", "size(dim=-1, dtype=float64)", "sizes must not be negative"),
    "no size": ("float64[]", "size(dim=(2, 3), dtype=float64)", "in canonical form that is 2"),
    "order": (
        "float64[2, 3]",
        "gammainc_slope(%0, %0, order=4294967296)",
        "an integer from 1 to 16",
    ),
    "orders": (
        "float64[2, 3]",
        "betainc_slope(%0, %0, %0, by_a=0, by_b=4294967296)",
        "an integer from 0 to 16",
    ),
    "wide": (
        "float64[2, 3]",
        "slice_axes(%0, start=(0, 0), size=(2, 3), step=(1, 1)) "
        "%2: (float64[2, 3], float64[3, 3]) = qr_tall(%1)",
        "at least as many rows as columns",
    ),
    "wide values": (
        "float64[2, 3]",
        "slice_axes(%0, start=(0, 0), size=(2, 3), step=(1, 1)) "
        "%2: (float64[3],) = svd_tall(%1, save=False, signs_of_v=False)",
        "at least as many rows as columns",
    ),
    "no sizes": ("float64[2, 3]", "for_several(%0, over=slice(0, 1, None))", "slice"),
    "no epsilon": ("float64[2, 3]", "rescale(%0, axis=(1,), eps=...)", "eps"),
    "endless padding": (
        "int64[2, 1]",
        "largest_positions("
        "%0, window=(2,), stride=(2,), padding=((0, 4294967296),), dilation=(1,))",
        "Pad less",
    ),
    "too large": (
        "float64[4611686018427387904]",
        "full(shape=(4611686018427387904,), fill_value=0, dtype=float64)",
        "has a type of 2**63 bytes or more",
    ),
}

PAIRS = {  # the second operand, the type, the node, and what is said
    "float indices": ("float64[2]", "float64[2, 3]", "gather(%0, %1, axis=0)", "are integers"),
    "beyond the axes": ("int64[2]", "float64[2]", "gather(%0, %1, %1, axis=1)", "axis 2 was given"),
    "no such axis": ("int64[2]", "float64[2, 3, 2]", "gather(%0, %1, axis=2)", "axis 2 was given"),
    "concat": ("float64[2, 4]", "float64[4, 3]", "concat(%0, %1, axis=0)", "sizes must be equal"),
    "cofactors": (
        "float64[3, 3]",
        "float64[3, 3]",
        "cofactors_tangent(%1, %0)",
        "both must be equal",
    ),
    "scattered": (
        "int64[2]",
        "float64[4, 3]",
        "scatter(%0, %1, shape=(4, 3, 1), axis=0)",
        "updates of shape (2, 3)",
    ),
    "largest at no integers": (
        "float64[2]",
        "float64[2, 3]",
        "largest_at(%0, %1, %0)",
        "one row of integers",
    ),
    "largest at a table": (
        "int64[2, 1]",
        "float64[2, 3]",
        "largest_at(%0, %1, %0)",
        "one row of integers",
    ),
    "more updates than places": (
        "int64[1]",
        "float64[2, 3]",
        "smallest_at(%0, %1, %0)",
        "must be of shape (1, 3)",
    ),
    "smoothing": (
        "float64[2, 3]",
        "float64[2, 3]",
        'excess(%0, %1, axis=0, label_smoothing="left")',
        "must be in [0, 1]",
    ),
    "side": (
        "float64[3]",
        "int64[2, 3]",
        "searchsorted(%1, %0, side=0)",
        "it is 'left' or 'right'",
    ),
    "triangle": (
        "float64[2, 2]",
        "float64[2, 3]",
        "triangular_solve(%1, %0, lower=None, trans=False)",
        "has lower=None; in canonical form that is False",
    ),
}

BODY = 'body = graph(%0: float64[3] "h", %1: float64[3] "r") { %2: float64[3] = add(%0, %1) '
LOOP = (
    'graph(%0: float64[2, 3] "x", %1: float64[3] "h") { %2: (float64[3],) = scan(%1, %0, '
    f"body=@body, consts=0, carry=1, length=2, reverse=False, save=False) {{ {BODY} return %2 }} }}"
    " %3: float64[3] = pick(%2, index=0) return %3 }"
)
REGION = (
    'graph(%0: float64[2, 3] "x", %1: float64[3] "h") { %2: (float64[3],) = region(%1, %1, '
    f"body=@body) {{ {BODY} return %2 }} }} %3: float64[3] = pick(%2, index=0) return %3 }}"
)
BRANCH = (
    'graph(%0: bool[] "c", %1: float64[3] "h", %2: float64[2, 3] "x") { %3: (float64[3],) = '
    f"cond(%0, %1, %1, then=@then, orelse=@orelse) {{ {BODY.replace('body', 'then')} return %2 }} "
    f"{BODY.replace('body', 'orelse')} return %2 }} }} "
    "%4: float64[3] = pick(%3, index=0) return %4 }"
)
BODIES = {
    "longer than its xs": (LOOP, "length=2", "length=5", "operands are"),
    "shorter than its xs": (LOOP, "length=2", "length=1", "operands are"),
    "negative length": (LOOP, "length=2", "length=-2", "two counts of inputs, a size"),
    "no length": (LOOP, "length=2", "length=2.0", "two counts of inputs, a size"),
    "more constants": (LOOP, "consts=0", "consts=2", "two counts of inputs, a size"),
    "negative constants": (LOOP, "consts=0", "consts=-1", "two counts of inputs, a size"),
    "truth for a count": (LOOP, "carry=1", "carry=True", "two counts of inputs, a size"),
    "no truth": (LOOP, "save=False", "save=0", "two counts of inputs, a size"),
    "more parameters": (LOOP, "save=False", "save=False, more=1", "has parameters"),
    "rows for a carry": (LOOP, "scan(%1, %0", "scan(%0, %0", "operands are"),
    "rows for a region": (REGION, "region(%1, %1", "region(%1, %0", "operands are"),
    "rows for a branch": (BRANCH, "cond(%0, %1, %1", "cond(%0, %2, %1", "operands are"),
    "no condition": (BRANCH, '%0: bool[] "c"', '%0: int8[] "c"', "operands"),
}


def refused(text: str, message: str) -> None:
    with pytest.raises(CheckError) as caught:
        wg.Graph.from_text(text)
    assert message in str(caught.value), caught.value


@pytest.mark.parametrize("name", NODES)
def test_of_one_operand(name):
    found, node, message = NODES[name]
    refused(X.format(f"{found} = {node}"), message)


@pytest.mark.parametrize("name", PAIRS)
def test_of_two_operands(name):
    second, found, node, message = PAIRS[name]
    refused(XS.format(second, f"{found} = {node}"), message)


@pytest.mark.parametrize("name", BODIES)
def test_of_bodies(name):
    text, old, new, message = BODIES[name]
    check(read(text))
    assert old in text
    refused(text.replace(old, new, 1), message)


def test_an_open_slice_that_stands():
    refused(
        'graph(%0: float64[n, 3] "x") { %1: float64[n, 3] = place(%0, shape=(n, 3), '
        "start=(0, 0), step=(0, 1)) return %1 }",
        "all of it must lie inside",
    )


def test_what_is_recorded_without_the_check_is_refused_too():
    """The rules of the ops run whenever a call is recorded."""
    for rebind in (
        lambda x: wg.op.reshape.rebind((x,), {"shape": (7,)}),
        lambda x: wg.op.slice_axes.rebind((x,), {"start": (9,), "size": (1,), "step": (1,)}),
        lambda x: wg.op.gather.rebind((x, np.zeros(2, int), np.zeros(2, int)), {"axis": 0}),
    ):
        with pytest.raises(ShapeError):
            trace_flat(
                lambda x, rebind=rebind: [rebind(x)], [wg.trace(np.sin, np.ones(6)).type(0)], "x"
            )


def test_every_op_reads_its_own_parameters_again():
    for text in seeds():
        wg.Graph.from_text(text).check()
