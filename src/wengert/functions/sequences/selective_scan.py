"""The selective scan: a state-space model whose step width and matrices change with time."""

from __future__ import annotations

from typing import Any

from wengert.core import dtypes
from wengert.core.bind import located
from wengert.core.define import function
from wengert.core.table import op
from wengert.errors import DTypeError, ShapeError
from wengert.functions.sequences.in_chunks import scan_in_chunks
from wengert.ops.sequences.state_spaces import MOST_STATES

_SHAPES = (
    "(channels, states), (batch, states, time) or (batch, groups, states, time) with groups that "
    "divide the channels"
)


def _require(held: bool, what: str, x: Any, wanted: str, u: Any) -> None:
    if not held:
        error = ShapeError(
            f"selective_scan: {what} has shape {tuple(x.shape)} and u {tuple(u.shape)}, which is "
            f"(batch, channels, time); {what} must be {wanted}. Reshape or transpose it."
        )
        raise located(error, [x])


def _require_arrays(u: Any, like_u: dict[str, Any], A: Any, per_channel: dict[str, Any]) -> None:
    _require(len(u.shape) == 3, "u", u, "(batch, channels, time)", u)
    for what, x in like_u.items():
        _require(x is None or tuple(x.shape) == tuple(u.shape), what, x, "of the shape of u", u)
    channels = u.shape[1]
    held = len(A.shape) == 2 and A.shape[0] == channels
    _require(held, "A", A, f"(channels, states), with {channels} channels", u)
    for what, x in per_channel.items():
        held = x is None or tuple(x.shape) == (channels,)
        _require(held, what, x, f"(channels,), which is ({channels},)", u)


def _groups(what: str, x: Any, u: Any, A: Any) -> int:
    """In how many groups channels share this matrix; 0 if each has its own, at all times."""
    (batch, channels, time), states = u.shape, A.shape[1]
    shape = tuple(x.shape)
    if len(shape) == 2:
        _require(shape == (channels, states), what, x, _SHAPES, u)
        return 0
    groups = shape[1] if len(shape) == 4 else 1
    held = shape in ((batch, states, time), (batch, groups, states, time))
    _require(held and groups > 0 and channels % groups == 0, what, x, _SHAPES, u)
    return groups


def _matrices(x: Any, groups: int, all_groups: int, states: int) -> tuple[Any, bool]:
    """A matrix as rows of time, (time, batch, groups, 1, states), or for all times, (groups, share,
    states); and whether it is rows.
    """
    if not groups:
        return op.reshape(x, (all_groups, -1, states)), False
    rows = op.permute_dims(_grouped(x, groups, all_groups), (3, 0, 1, 2))
    return op.expand_dims(rows, axis=3), True


@function()
def selective_scan(
    u: Any,
    delta: Any,
    A: Any,
    B: Any,
    C: Any,
    D: Any = None,
    z: Any = None,
    delta_bias: Any = None,
    delta_softplus: bool = False,
    h0: Any = None,
    return_last_state: bool = False,
) -> Any:
    """The selective state-space model of Mamba (Gu and Dao 2023), of u (batch, channels, time):

        d = delta + delta_bias, or softplus of it
        h_t = exp(d_t A) h_{t-1} + d_t u_t B_t              (batch, channels, states)
        y_t = sum of h_t C_t over states + D u_t, times silu(z_t)

    `delta` and `z` have the shape of u, `A` is (channels, states), `D` and `delta_bias` are
    (channels,). `B` and `C` are (channels, states), the same at all times, or (batch, states,
    time), or (batch, groups, states, time), where neighbouring channels share a group. It begins
    with `h0`, (batch, channels, states), or zeros; with `return_last_state` it returns (y, last h),
    which is the h0 of what follows, with the bits of the whole in compiled code.

    >>> u = np.ones((1, 1, 3))
    >>> wg.selective_scan(u, u, np.zeros((1, 1)), np.ones((1, 1)), np.ones((1, 1)))
    array([[[1., 2., 3.]]])
    """
    given = {"u": u, "delta": delta, "A": A, "B": B, "C": C, "D": D, "z": z}
    given |= {"delta_bias": delta_bias, "h0": h0}
    arrays = {name: x if x is None else op.asarray(x) for name, x in given.items()}
    _require_floats(arrays)
    u, delta, A, B, C, D, z, delta_bias, h0 = arrays.values()
    _require_arrays(u, {"delta": delta, "z": z}, A, {"D": D, "delta_bias": delta_bias})
    delta = delta if delta_bias is None else delta + op.expand_dims(delta_bias, axis=1)
    delta = op.softplus(delta) if delta_softplus else delta
    y, last = _scanned(u, delta, A, B, C, h0)
    y = y if D is None else y + u * op.expand_dims(D, axis=1)
    y = y if z is None else y * op.silu(z)
    return (y, last) if return_last_state else y


def _require_floats(arrays: dict[str, Any]) -> None:
    for what, x in arrays.items():
        if x is not None and not dtypes.is_float(x.dtype):
            error = DTypeError(
                f"selective_scan: {what} has dtype {x.dtype}; it must be float32 or float64. "
                "Convert it with astype."
            )
            raise located(error, [x])


def _scanned(u: Any, delta: Any, A: Any, B: Any, C: Any, h0: Any) -> tuple[Any, Any]:
    """y without skip and gate, and the last state."""
    (batch, channels, _), states = u.shape, A.shape[1]
    of_b, of_c = _groups("B", B, u, A), _groups("C", C, u, A)
    groups = max(of_b, of_c, 1)
    if min(of_b, of_c) and groups % min(of_b, of_c):
        raise ShapeError(
            f"selective_scan: B has {of_b} groups and C {of_c}; one number must divide the other. "
            "Repeat one of them."
        )
    dtype = dtypes.promote(u, delta, A, B, C, *(() if h0 is None else (h0,)))
    if h0 is None:
        h0 = op.zeros((batch, channels, states), dtype)
    else:
        wanted = (batch, channels, states)
        _require(tuple(h0.shape) == wanted, "h0", h0, f"(batch, channels, states), {wanted}", u)
    if of_b and of_c and _has_kernel(u, A, groups):
        matrices = (_grouped(x, own, groups) for x, own in ((B, of_b), (C, of_c)))
        given = (op.astype(x, dtype) for x in (u, delta, A, *matrices, h0))
        y, last = op.state_space_scan(*given)
        return y, last
    return _looped(u, delta, A, (B, of_b), (C, of_c), op.astype(h0, dtype), groups)


def _has_kernel(u: Any, A: Any, groups: Any) -> bool:
    sizes = (*u.shape[1:], A.shape[1], groups)
    return all(isinstance(n, int) and n > 0 for n in sizes) and A.shape[1] <= MOST_STATES


def _grouped(x: Any, own: int, groups: int) -> Any:
    """A matrix as (batch, groups, states, time)."""
    x = op.expand_dims(x, axis=1) if len(x.shape) == 3 else x
    return x if own == groups else op.repeat(x, groups // own, axis=1)


def _looped(
    u: Any, delta: Any, A: Any, of_b: tuple[Any, int], of_c: tuple[Any, int], h0: Any, groups: int
) -> tuple[Any, Any]:
    """The same as a loop: where sizes are open, or matrices are the same at all times. It has the
    bits of the kernel.
    """
    (batch, channels, _), states = u.shape, A.shape[1]
    split = (batch, groups, channels // groups)
    A = op.reshape(A, (*split[1:], states))
    B, b_rows = _matrices(*of_b, groups, states)
    C, c_rows = _matrices(*of_c, groups, states)
    rows = [op.reshape(op.permute_dims(x, (2, 0, 1)), (-1, *split, 1)) for x in (u, delta)]
    rows += [x for x, held in ((B, b_rows), (C, c_rows)) if held]

    def step(h: Any, x: Any) -> tuple[Any, Any]:
        u, delta, *matrices = x
        b = matrices.pop(0) if b_rows else B
        c = matrices.pop(0) if c_rows else C
        h = op.exp(delta * A) * h + delta * u * b
        return h, op.sum(h * c, axis=-1)

    last, ys = scan_in_chunks(step, op.reshape(h0, (*split, states)), tuple(rows))
    y = op.permute_dims(op.reshape(ys, (-1, batch, channels)), (1, 2, 0))
    return y, op.reshape(last, (batch, channels, states))
