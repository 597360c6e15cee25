"""Arguments that a call does not take, refused in words: which there are, and which was meant."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar, cast

from wengert.core.words.foreign_names.nearest import ALIKE, nearest

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
# What parameters are called elsewhere, and what they may be called here.
_ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "T_0": ("period",),
    "T_max": ("total_steps",),
    "T_mult": ("growth",),
    "a": ("x",),
    "alpha": ("a",),
    "axes": ("axis",),
    "batchsize": ("batch_size",),
    "beta": ("b", "rate"),
    "beta1": ("betas",),
    "beta2": ("betas",),
    "concentration": ("a",),
    "concentration0": ("b",),
    "concentration1": ("a",),
    "count_include_pad": ("include_padding",),
    "decay_rate": ("gamma",),
    "decay_steps": ("total_steps",),
    "dim": ("axis",),
    "dims": ("axis",),
    "embedding_dim": ("size",),
    "end_value": ("min_lr",),
    "epsilon": ("eps",),
    "eta_min": ("min_lr",),
    "feature_group_count": ("groups",),
    "features": ("out_channels",),
    "has_bias": ("bias",),
    "in_channels": ("in_size",),
    "in_features": ("in_size",),
    "init_value": ("lr",),
    "initial_learning_rate": ("lr",),
    "input": ("x",),
    "jit": ("compiled",),
    "keepdim": ("keepdims",),
    "kernel_dilation": ("dilation",),
    "kernel_size": ("window",),
    "learning_rate": ("lr", "base_lr"),
    "loc": ("mean",),
    "lr": ("base_lr", "learning_rate"),
    "max_norm": ("clip_norm", "max_norm"),
    "max_steps": ("total_steps",),
    "maxval": ("high",),
    "minval": ("low",),
    "mu": ("mean",),
    "n_jobs": ("workers",),
    "normalized_shape": ("size",),
    "num_channels": ("channels",),
    "num_embeddings": ("count",),
    "num_groups": ("groups",),
    "num_training_steps": ("total_steps",),
    "num_warmup_steps": ("steps",),
    "other": ("y",),
    "out_channels": ("out_size",),
    "out_features": ("out_size",),
    "output_size": ("size",),
    "p": ("rate", "ord"),
    "params": ("model",),
    "peak_value": ("lr", "max_lr"),
    "rhs_dilation": ("dilation",),
    "rng": ("key",),
    "sample_shape": ("shape",),
    "scale": ("std",),
    "scale_tril": ("factor",),
    "shuffle": ("shuffle_seed",),
    "sigma": ("std",),
    "size": ("shape",),
    "static_argnames": ("static",),
    "static_argnums": ("static",),
    "strides": ("stride",),
    "transition_steps": ("total_steps",),
    "use_bias": ("bias",),
    "use_nesterov": ("nesterov",),
    "warmup_steps": ("steps",),
    "wd": ("weight_decay",),
    "window_shape": ("window",),
    "window_strides": ("stride",),
}
_EACH_BINARY = (
    "Weigh the losses of all elements: losses = wg.bce_with_logits(…, reduction='none'), then "
)
_EACH = "Weigh the losses of all elements: losses = wg.cross_entropy(…, reduction='none'), then "
_VALIDATE = (
    "Write for epoch in {0}.epochs(x, y, batch_size=32): and {0}.evaluate(loss, x_val, y_val, "
    "batch_size=32) there; wg.train.fit takes validation= for a TrainStep"
)
# What Keras has in its loop, of runs; {0} is the name of the step or the ensemble.
_OF_RUNS: Mapping[str, str] = {
    "callbacks": "Write for epoch in {0}.epochs(x, y, batch_size=32): and call them there",
    "class_weight": "Give the loss an argument for the weight of each row, and pass an array",
    "sample_weight": "Give the loss an argument for the weight of each row, and pass an array",
    "steps_per_epoch": "Leave it out: an epoch has all rows, in batches of batch_size",
    "validation_data": _VALIDATE,
    "validation_split": _VALIDATE,
    "verbose": "Leave it out: nothing is printed; print in for epoch in {0}.epochs(…)",
}
# What to write where a function has no such parameter, and none that stands for it.
_OTHERWISE: Mapping[tuple[str, str], str] = {
    ("Bernoulli", "p"): "Write logits=wg.logit(p)",
    ("Bernoulli", "probs"): "Write logits=wg.logit(probs)",
    ("Categorical", "p"): "Write logits=wg.log(p)",
    ("Categorical", "probs"): "Write logits=wg.log(probs)",
    **{
        (name, "exclude"): (
            f'Give groups to the TrainStep: {{"*.bias": wg.optim.{name}(weight_decay=0.0), "*": '
            f"wg.optim.{name}()}}"
        )
        for name in ("AdamW", "Lion")
    },
    ("Embedding", "padding_idx"): (
        "Mask the vectors instead: layer(ids) * wg.astype(ids != index, np.float32)[..., None]"
    ),
    **{
        (name, "batch_first"): "Leave it out: time is axis 0, so pass x.transpose(1, 0, 2)"
        for name in ("GRU", "LSTM", "RNN")
    },
    **{
        (name, "num_layers"): "Make a layer for each, and call one after the other"
        for name in ("GRU", "LSTM", "RNN")
    },
    **{
        (
            name,
            "bidirectional",
        ): f"Write wg.nn.Bidirectional(wg.nn.{name}(3, 5), wg.nn.{name}(3, 5))"
        for name in ("GRU", "LSTM", "RNN")
    },
    ("Optimizer.update", "params"): "Write model, state = optimizer.update(model, grads, state)",
    ("MultiheadAttention", "batch_first"): "Leave it out: x is (batch, time, size)",
    ("MultiheadAttention", "embed_dim"): "Write size=",
    ("MultiheadAttention", "num_heads"): "Write heads=",
    ("EMA", "tau"): "Write decay=1 - tau",
    ("MultiheadAttention", "is_causal"): "Make the layer with causal=True",
    ("MultiheadAttention", "need_weights"): "Leave it out: the layer returns y alone",
    **{
        (name, given): f"Write mask={form}: bools are true where a query may look, not where it is "
        "hidden"
        for name in ("MultiheadAttention", "TransformerBlock")
        for given, form in (
            ("key_padding_mask", "~key_padding_mask[:, None, None, :]"),
            ("src_key_padding_mask", "~src_key_padding_mask[:, None, None, :]"),
            ("attn_mask", "~attn_mask"),
            ("src_mask", "~src_mask"),
        )
    },
    **{
        ("MultiheadAttention", name): "It takes one x: layer(x), or layer(x, context=keys)"
        for name in ("query", "key", "value", "q", "k", "v")
    },
    ("Gamma", "scale"): "Write rate=1 / scale",
    **{
        (name, given): f"Write mean + deviation * {call}"
        for name, call in (
            ("Generator.normal", "rng.normal(shape)"),
            ("normal", "wg.random.normal(key, shape)"),
        )
        for given in ("loc", "mean", "mu", "scale", "sigma", "std", "stddev")
    },
    ("LBFGS.minimize", "jac"): "Leave it out: the gradient is derived from the function",
    **{
        ("LBFGS.minimize", name): "Give it to the search: wg.optim.LBFGS(max_iter=200)"
        for name in ("lr", "max_iter", "maxiter", "method", "options", "tol")
    },
    ("LBFGS.minimize", "bounds"): (
        "There are no bounds: search for a weight without any, as p in wg.exp(p) above 0"
    ),
    **{
        (name, given): f"Write {meant}= instead"
        for name in ("MLPClassifier", "MLPRegressor")
        for given, meant in (
            ("lr", "learning_rate_init"),
            ("epochs", "max_iter"),
            ("seed", "random_state"),
            ("weight_decay", "alpha"),
            ("hidden_sizes", "hidden_layer_sizes"),
            ("layers", "hidden_layer_sizes"),
        )
    },
    **{
        (f"{name}.fit", given): (
            f"It holds rows back itself: {name}(early_stopping=True, validation_fraction=0.2)"
        )
        for name in ("MLPClassifier", "MLPRegressor")
        for given in ("eval_set", "validation_data", "validation_split", "validation_fraction")
    },
    **{
        ("MultivariateNormal", name): f"Write factor=wg.linalg.cholesky({name})"
        for name in ("cov", "covariance", "covariance_matrix")
    },
    **{
        ("TrainStep", name): f"Give it to the ranks: ranks=wg.parallel.mpi({name}=…)"
        for name in ("comm", "exchange", "micro_batches", "patience", "reduction", "state_rows")
    },
    **{
        ("TrainStep", name): "Write clip_norm= instead"
        for name in ("max_grad_norm", "grad_clip", "gradient_clip_val")
    },
    **{
        ("TrainStep", name): "Give it to the optimizer, as in wg.optim.Adam(1e-3)"
        for name in ("lr", "learning_rate")
    },
    **{("TrainStep", name): "Write seed= instead" for name in ("random_state", "key")},
    **{
        ("fit", name): "Write validation=0.2 for a share of the rows, or validation=(x, y) for data"
        for name in ("validation_split", "validation_data", "validation_fraction")
    },
    (
        "fit",
        "verbose",
    ): "Write progress=False to print nothing, and progress=True for a line of each epoch",
    **{
        (f"{owner}.{method}", key): repair.format(owner.removeprefix("Train").lower())
        for owner in ("TrainStep", "Ensemble")
        for method in ("run", "epochs")
        for key, repair in _OF_RUNS.items()
    },
    **{
        (
            "fit",
            name,
        ): "Give the loss an argument for the weight of each row, loss(model, x, y, w), "
        "and pass data=(x, y, w); weight='w' is for metrics alone"
        for name in ("class_weight", "sample_weight")
    },
    ("fit", "patience"): "Write early_stopping=wg.train.EarlyStopping(patience=5)",
    ("fit", "y"): "Write data=(x, y)",
    **{
        (name, "padding_mode"): "Zeros are padded; put others around x before the layer, as in "
        "wg.concat([x[..., -1:], x, x[..., :1]], axis=-1) for a ring"
        for name in ("Conv1d", "Conv2d", "Conv3d")
    },
    ("cross_entropy", "ignore_index"): (
        "Give those any class, and weigh them by 0: losses = wg.cross_entropy(logits, "
        "wg.where(targets == index, 0, targets), reduction='none'), then wg.sum(losses * keep) / "
        "wg.sum(keep), where keep is wg.astype(targets != index, losses.dtype)"
    ),
    ("cross_entropy", "weight"): (
        f"{_EACH}wg.sum(losses * w) / wg.sum(w), where w is "
        "wg.asarray(weight, losses.dtype)[targets]"
    ),
    ("bce_with_logits", "pos_weight"): (
        f"{_EACH_BINARY}wg.mean(losses * (1 + (pos_weight - 1) * wg.astype(targets, losses.dtype)))"
    ),
    ("bce_with_logits", "weight"): (
        f"{_EACH_BINARY}wg.sum(losses * w) / wg.sum(w), where w is wg.asarray(weight, losses.dtype)"
    ),
    ("sweep", "n_jobs"): 'Write backend="joblib", and workers= for how many run at once',
    (
        "kl_div",
        "log_target",
    ): "The second operand holds probabilities: wg.kl_div(log_q, wg.exp(log_p))",
    ("logsumexp", "b"): "Add the logarithms of the weights: wg.logsumexp(x + wg.log(b))",
    (
        "odeint",
        "tfirst",
    ): "Leave it out, and put the time last: lambda y, t, *args: func(t, y, *args)",
}


_UPDATES = (
    "write model, state = optimizer.update(model, grads, state), or let step = "
    "wg.TrainStep(loss, model, optimizer) do all of it: step(x, y)"
)
# What to write where a function is called as another library's, without what it needs here.
_A_KEY = (
    "In a loss or a bound function name a parameter rng, and pass rng; elsewhere pass "
    "wg.random.key(seed)"
)
_CALLED_ELSEWHERE: Mapping[tuple[str, str], str] = {
    **{
        (f"{owner}.{method}", "batch_size"): (
            "Pass batch_size=32, with arrays of all rows; batches of a loader are for a loop, for "
            f"x, y in loader: {owner.removeprefix('Train').lower()}(x, y)"
        )
        for owner in ("TrainStep", "Ensemble")
        for method in ("run", "epochs")
    },
    ("LBFGS.step", "weights"): (
        "A search has no closure and no parameters of its own: write tree = "
        "search.minimize(loss, tree).tree, or search.step(wg.value_and_grad(loss), weights)"
    ),
    ("Optimizer.step", "parameter_id"): f"An optimizer holds no parameters: {_UPDATES}",
    ("Optimizer.step", "grad"): f"It is step(name, weights, grad). Of trees, {_UPDATES}",
    ("Optimizer.update", "state"): (
        "Write model, state = optimizer.update(model, grads, state), and state = "
        "optimizer.init(model) before the first"
    ),
    ("Optimizer.update", "model"): "Write model, state = optimizer.update(model, grads, state)",
}


# What to write where a function is given by name what is for another that it calls.
_ARGUMENTS_OF_OTHERS: Mapping[str, str] = {
    "LBFGS.minimize": "Pass what the function takes behind the tree: minimize(function, tree, x, y)"
}
# What to write where a function is given more by position than it takes, as elsewhere.
_TOGETHER: Mapping[str, str] = {
    "fit": "The data are one argument: write data=(x, y)",
    "Generator.normal": "Write mean + deviation * rng.normal(shape)",
}


def no_parameter(
    name: str, key: str, known: Sequence[str], made_with: Sequence[str] = ()
) -> TypeError:
    """The refusal of an argument by a name that is none; `made_with` are names of the constructor
    of what was called.
    """
    meant = _meant(key, known)
    usual = _ARGUMENTS_OF_OTHERS.get(name, "Use these names" if known else "Leave it out")
    repair = f"Write {meant}= instead" if meant else usual
    if key in made_with:
        repair = f"Pass it to the constructor: {name}(…, {key}=…)"
    repair = _OTHERWISE.get((name, key), repair)
    has = ", ".join(known) or "none"
    return TypeError(f"{name}: no parameter {key!r}; it has {has}. {repair}.")


def _meant(key: str, known: Sequence[str]) -> str | None:
    """Which of the known names was meant by another one, if it can be seen."""
    others = [each for each in _ELSEWHERE.get(key, ()) if each in known]
    return others[0] if others else nearest(key, known, ALIKE)


def given_twice(name: str, key: str) -> TypeError:
    """The refusal of an argument by position and by name."""
    return TypeError(
        f"{name}: {key} was given twice, by position and by name; each parameter is given once. "
        f"{_TOGETHER.get(name, 'Leave one out')}."
    )


def too_many(name: str, given: int, most: int, by_name: Sequence[str] = ()) -> TypeError:
    """The refusal of more arguments than there are parameters without a name to write."""
    if by_name:
        repair = _TOGETHER.get(name, f"Leave some out, or write {by_name[0]}=")
        return TypeError(
            f"{name}: {given} arguments were given by position; it takes {most} so, and "
            f"{', '.join(by_name)} by name. {repair}."
        )
    repair = _TOGETHER.get(name, "Leave some out")
    return TypeError(f"{name}: {given} arguments were given; it takes {most} at most. {repair}.")


def not_given(name: str, key: str) -> TypeError:
    """The refusal of a call without an argument it needs."""
    usual = _A_KEY if key == "key" else f"Pass {key}="
    repair = _CALLED_ELSEWHERE.get((name, key), usual)
    return TypeError(f"{name}: {key} was not given; it has no default. {repair}.")


def refusal(
    name: str,
    signature: inspect.Signature,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    made_with: Sequence[str] = (),
) -> TypeError | None:
    """Why Python cannot bind these arguments, in words; None if it can."""
    parameters = list(signature.parameters.values())
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    places = [p for p in named if p.kind is not p.KEYWORD_ONLY]
    if len(args) > len(places) and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        by_name_only = [p.name for p in named if p.kind is p.KEYWORD_ONLY]
        return too_many(name, len(args), len(places), by_name_only)
    by_name = {p.name for p in named if p.kind is not p.POSITIONAL_ONLY}
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    taken = {p.name for p in places[: len(args)]}
    for key in kwargs:
        if key not in by_name and not takes_all:
            return no_parameter(name, key, [p.name for p in named], made_with)
        if key in taken & by_name:
            return given_twice(name, key)
    for p in named:
        if p.default is p.empty and p.name not in taken and p.name not in kwargs:
            others = [key for key in kwargs if key not in by_name and _meant(key, [p.name])]
            if others:
                return no_parameter(name, others[0], [each.name for each in named])
            return not_given(name, p.name)
    return None


def binding_refused(error: BaseException) -> bool:
    """Whether a call raised in the frame that catches it: its arguments could not be bound."""
    return error.__traceback__ is not None and error.__traceback__.tb_next is None


def worded(function: F) -> F:
    """The function, which refuses arguments it does not take in words."""
    return cast("F", _worded(function, function.__name__, 0))


def _worded(
    function: Callable[..., Any], name: str, own: int, made_by: type | None = None
) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if not binding_refused(error):
                raise
            if _is_replacing(function, args, kwargs):
                for field, value in kwargs.items():
                    setattr(args[0], field, value)
                return None
            signature = inspect.signature(function)
            kept = list(signature.parameters.values())[own:]
            made_with = [] if made_by is None else [*inspect.signature(made_by).parameters]
            bound = signature.replace(parameters=kept)
            clearer = refusal(name, bound, args[own:], kwargs, made_with)
            raise clearer or error from None

    return call


def _is_replacing(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> bool:
    """Whether `dataclasses.replace` calls a constructor that is not the one of its dataclass: it
    knows no other, and gives all fields by name.
    """
    if function.__name__ != "__init__" or len(args) != 1 or not is_dataclass(args[0]):
        return False
    caller = sys._getframe(2).f_globals.get("__name__")
    return caller == "dataclasses" and kwargs.keys() == {each.name for each in fields(args[0])}


def worded_methods(*names: str) -> Callable[[type[T]], type[T]]:
    """A decorator of classes: these methods refuse arguments they do not take in words. Messages
    call the constructor by the name of the class, and others by both names.
    """

    def decorate(kind: type[T]) -> type[T]:
        for name in names:
            method = getattr(kind, name)
            assert isinstance(method, FunctionType)
            known = kind.__name__ if name in ("__init__", "__call__") else f"{kind.__name__}.{name}"
            setattr(kind, name, _worded(method, known, 1, kind if name == "__call__" else None))
        return kind

    return decorate
