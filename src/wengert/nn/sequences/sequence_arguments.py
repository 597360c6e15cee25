"""What recurrent layers share: sequences and states that they refuse, gates, torch's names."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from wengert.core.bind import located
from wengert.core.dims import Dim, Shape, has_dims
from wengert.core.dtypes import promote
from wengert.core.table import op
from wengert.core.types import Value
from wengert.errors import ShapeError
from wengert.functions.drawn_weights import note_drawn
from wengert.nn.init import initialise
from wengert.nn.layer_arguments import as_sequence, require_shape

# What torch calls the parameters of one recurrent layer.
TORCH_NAMES = {
    "input_weight": "weight_ih_l0",
    "hidden_weight": "weight_hh_l0",
    "input_bias": "bias_ih_l0",
    "hidden_bias": "bias_hh_l0",
}

_SMALLER_LAST = (
    "in a run with a state for each row of the batch, drop_last=True leaves out a smaller last "
    "batch."
)


def initial_gates(
    by: str, how: Any, count: int, shape: tuple[int, int], rng: Any, dtype: Any
) -> Any:
    """Weights of some gates below each other; the fans are those of one gate."""
    gates = [initialise(by, how, shape, rng, dtype) for _ in range(count)]
    return note_drawn(by, np.concatenate(gates))


def require_sequence(by: str, xs: Any, width: int) -> None:
    """Refuse what is no sequence of rows of this width, with time as axis 0."""
    if len(xs.shape) not in (2, 3) or xs.shape[-1] != width:
        error = ShapeError(
            f"{by}: xs has shape {tuple(xs.shape)}; it must be (time, in) or (time, batch, in), "
            f"where in is {width}. Reshape or transpose it."
        )
        raise located(error, [xs])


def require_state(by: str, xs: Any, h: Value, hidden: int, name: str = "h") -> None:
    """Refuse a state that is not that of the batch: most likely axes 0 and 1 were mixed up."""
    wanted = (*xs.shape[1:-1], hidden)
    given = tuple(op.asarray(h).shape)
    if given != wanted:
        axes = ("batch", "hidden")[-len(wanted) :]
        if given[-1:] == (hidden,) and len(given) == len(wanted) and given[0] != xs.shape[0]:
            repair = f"Begin with layer.initial_state({wanted[0]}); {_SMALLER_LAST}"
        else:
            repair = "If axis 0 of xs is the batch, transpose it: np.swapaxes(xs, 0, 1)."
        error = ShapeError(
            f"{by}: {name} has shape {given} and xs {tuple(xs.shape)}; xs is (time, "
            f"{'batch, ' * (len(wanted) > 1)}in), so {name} must be ({', '.join(axes)}"
            f"{',' * (len(wanted) == 1)}), which is {wanted}. {repair}"
        )
        raise located(error, [xs, h])


def require_step(by: str, layer: Any, x: Value, h: Value, name: str = "h") -> None:
    """Refuse an x and a state that are not those of one time, of the same rows."""
    width, hidden = layer.input_weight.shape[1], layer.hidden_weight.shape[1]
    shape, state = tuple(op.asarray(x).shape), tuple(op.asarray(h).shape)
    if shape[-1:] == (width,) and state == (*shape[:-1], hidden):
        return
    swapped = shape[-1:] == (hidden,) and state[-1:] == (width,) and width != hidden
    if swapped and name == "h":
        repair = "Write layer.step(x, h), the input first."
    elif len(shape) == len(state) + 1 and shape[1:-1] == state[:-1]:
        repair = "For all times of a sequence, call the layer: hs, last = layer(xs, h)."
    elif shape[-1:] == (width,) and state[-1:] == (hidden,) and len(shape) == len(state):
        repair = f"Begin with layer.initial_state({shape[:-1]}); {_SMALLER_LAST}"
    else:
        repair = f"Begin with layer.initial_state({shape[:-1]})."
    error = ShapeError(
        f"{by}.step: x has shape {shape} and {name} {state}; they must be (…, {width}) and (…, "
        f"{hidden}), one time of the same rows. {repair}"
    )
    raise located(error, [x, h])


def require_batch(by: str, batch: Any) -> Shape:
    """The sizes of a batch as a tuple, of which any may be open, or the worded error."""
    sizes = as_sequence(batch)
    sizes = (batch,) if sizes is None else sizes
    if not any(isinstance(size, Dim) for size in sizes):
        return require_shape(by, batch)
    require_shape(by, tuple(0 if isinstance(size, Dim) else size for size in sizes))
    return tuple(sizes)


def new_zeros(shape: Shape, dtype: Any) -> Value:
    """An array of zeros, or a Tensor where a size is open."""
    return op.zeros(shape, dtype) if has_dims(shape) else np.zeros(cast(Any, shape), dtype)


def zero_state(by: str, layer: Any, batch: Any) -> Value:
    """What a recurrent layer knows before the first time: zeros of its dtype."""
    shape = (*require_batch(f"{by}.initial_state", batch), layer.hidden_weight.shape[1])
    return new_zeros(shape, layer.hidden_weight.dtype)


def require_kept(by: str, given: Any, kind: type, x: Any, wanted: Any, begin: str) -> None:
    """Refuse what was not kept by a layer of these sizes: its arrays, of which `wanted` gives the
    shapes by name, must be those of the batch of x.
    """
    if not isinstance(given, kind):
        raise TypeError(
            f"{by}: what was kept is {type(given).__name__}; it must be a {kind.__name__}, as a "
            f"step returns it. Begin with layer.{begin}."
        )
    kept = dict(enumerate(given)) if isinstance(given, tuple) else vars(given)
    for name, shape in wanted.items():
        given_shape = tuple(op.asarray(kept[name]).shape) if name in kept else None
        if given_shape != shape:
            same_rank = given_shape is not None and len(given_shape) == len(shape)
            rows = f"; {_SMALLER_LAST}" if same_rank else "."
            error = ShapeError(
                f"{by}: part {name} of what was kept has shape {given_shape} and x "
                f"{tuple(x.shape)}; it must be {shape}. Begin with layer.{begin}, of the batch "
                f"of x{rows}"
            )
            raise located(error, [x])


def require_rows(by: str, x: Any, width: int, rank: int) -> None:
    """Refuse an x without its axes of time and width, or of width alone for one step."""
    if len(x.shape) < rank or x.shape[-1] != width:
        axes = "(…, time, size)" if rank > 1 else "(…, size)"
        error = ShapeError(
            f"{by}: x has shape {tuple(x.shape)}; it must be {axes}, where size is {width}. "
            "Reshape or transpose it."
        )
        raise located(error, [x])


def recurrent_outputs(kind: str, layer: Any, projected: Value, states: Any) -> tuple[Value, Any]:
    """The outputs of all times and the last states of a layer with these weights."""
    given = (projected, layer.hidden_weight, layer.hidden_bias, *states)
    dtype = promote(*given)
    hs, *last = op.recurrent_loop([op.astype(x, dtype) for x in given], kind=kind)
    return hs, tuple(last)
