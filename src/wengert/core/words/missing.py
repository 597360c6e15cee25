"""Names that other libraries have and a module, a layer or a training step of ours has not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from wengert.core.table import FUNCTIONS, UFUNCS
from wengert.core.words.elsewhere import REPAIRS as OF_TENSORS
from wengert.core.words.nearest import ALIKE, MISTYPED, nearest
from wengert.errors import MissingAttribute

_PACKAGE = "wengert"
_SPACES = (
    "",
    "nn",
    "optim",
    "random",
    "linalg",
    "tree",
    "distributions",
)  # where a name may be instead
_CPU = "Leave it out: arrays are NumPy's, and all runs on the CPU"
_NO_MODE = (
    "Leave it out: there is no training mode; Dropout drops where it is given rng, and BatchNorm "
    "is told training="
)
_GRADIENTS = "Leave it out: wg.grad and wg.TrainStep compute gradients anew in every call"
_A_DATACLASS = "Write a dataclass with layers and arrays as fields, and define its __call__"
_KEYS = "Write wg.random.normal(key, shape), with key = wg.random.key(seed)"
# What is typed in the place of what we have, by module.
REPAIRS: Mapping[str, Mapping[str, str]] = {
    "": {
        "as_tensor": "Write np.asarray",
        "autograd": "Write wg.grad(f)(x)",
        "backward": "Write wg.grad(f)(x), where f computes the loss from x",
        "cat": "Write wg.concat([x, y], axis=0)",
        "clamp": "Write wg.clip(x, low, high)",
        "concatenate": "Write wg.concat([x, y], axis=0)",
        "cuda": _CPU,
        "device": _CPU,
        "enable_grad": _GRADIENTS,
        "flatten": "Write x.reshape(-1)",
        "from_numpy": "Leave it out: arrays are NumPy's",
        "inference_mode": "Leave it out: nothing is differentiated outside of wg.grad",
        "jit": "Write wg.compile(f)",
        "lax": "Write wg.scan, wg.while_loop or wg.cond",
        "manual_seed": "Pass seed= to layers and to wg.TrainStep, or begin with wg.nn.seed(0)",
        "no_grad": (
            "Leave it out: nothing is differentiated outside of wg.grad, and inside "
            "wg.stop_gradient(x) is not"
        ),
        "numpy": "Write import numpy as np: its functions take Tensors, too",
        "pmap": "There is none; compiled code uses all CPUs by itself",
        "rand": _KEYS.replace("normal", "uniform"),
        "randn": _KEYS,
        "repeat_interleave": "Write wg.repeat(x, count, axis=axis)",
        "scatter": "Write wg.scatter_add(x, index, values)",
        "tensor": "Write np.array",
        "Variable": "Write the array itself: float arrays of a model are its parameters",
        "utils": "Write step.run(x, y, batch_size=32), which makes batches of arrays",
        "vmap": "There is none yet; write the function for a batch axis, or use wg.scan",
        **dict.fromkeys(("float16", "bfloat16"), "Write np.float32"),
    },
    "nn": {
        "BatchNorm1d": "Write wg.nn.BatchNorm(size)",
        "BCEWithLogitsLoss": "Write wg.softplus(z) - z * y, which is that loss of a logit z",
        "Conv1d": "There is no convolution yet; write it with slices and wg.einsum",
        "Conv2d": "There is no convolution yet; write it with slices and wg.einsum",
        "CrossEntropyLoss": "Write wg.cross_entropy(logits, targets)",
        "Flatten": "Write lambda x: x.reshape(x.shape[0], -1)",
        "functional": "Write wg.relu, wg.softmax, wg.cross_entropy …: functions are in wg itself",
        "Identity": 'Write "identity"',
        "LSTM": "There is none; write wg.nn.GRU(in_size, hidden_size)",
        "Module": _A_DATACLASS,
        "ModuleList": "Write a list",
        "MSELoss": "Write wg.mse(predictions, targets)",
        "Parameter": "Write the array itself: float arrays of a model are its parameters",
        "RNN": "There is none; write wg.nn.GRU(in_size, hidden_size)",
        "Softmax": "Write wg.softmax(x); wg.cross_entropy takes logits",
        **{
            name: f'Write "{ours}" in a Sequential, and wg.{ours}(x) elsewhere'
            for name, ours in {
                "GELU": "gelu",
                "LeakyReLU": "leaky_relu",
                "ReLU": "relu",
                "Sigmoid": "sigmoid",
                "SiLU": "silu",
                "Tanh": "tanh",
            }.items()
        },
    },
    "optim": {
        "apply_updates": "Write params, state = optimizer.update(params, grads, state)",
        "CosineAnnealingLR": "Write wg.optim.Cosine(lr, total_steps), and pass it as lr",
        "CosineAnnealingWarmRestarts": "Write wg.optim.CosineRestarts(lr, period), as lr",
        "ExponentialLR": "Write wg.optim.Exponential(lr, gamma), and pass it as lr",
        "LambdaLR": "Write wg.optim.Lambda(lr, function), and pass it as lr",
        "lr_scheduler": "Write wg.optim.Cosine(lr, total_steps), and pass it as lr of an optimizer",
        "MultiStepLR": "Write wg.optim.MultiStep(lr, milestones), and pass it as lr",
        "OneCycleLR": "Write wg.optim.OneCycle(max_lr, total_steps), and pass it as lr",
        "ReduceLROnPlateau": "Write wg.optim.ReduceOnPlateau(lr), and pass it as lr",
        "StepLR": "Write wg.optim.StepDecay(lr, step_size), and pass it as lr",
    },
    "random": {
        "default_rng": "Write wg.random.Generator(wg.random.key(seed))",
        "PRNGKey": "Write wg.random.key(seed)",
        "rand": _KEYS.replace("normal", "uniform"),
        "randn": _KEYS,
        "seed": "Write key = wg.random.key(seed), and pass the key",
        "shuffle": "Write x[wg.random.permutation(key, x.shape[0])]",
    },
    "linalg": {
        "eig": "Of symmetric matrices write wg.linalg.eigh(x); there is none for others yet",
    },
}
OF_LAYERS: Mapping[str, str] = {
    "apply": "Write wg.tree.map(function, model)",
    "backward": _GRADIENTS,
    "cpu": _CPU,
    "cuda": _CPU,
    "eval": _NO_MODE,
    "forward": "Call it: model(x)",
    "load_state_dict": "Write model = wg.load(path, like=model)",
    "named_parameters": "Write zip(wg.tree.paths(model), wg.tree.leaves(model))",
    "parameters": "Write wg.tree.leaves(model); a TrainStep finds them by itself",
    "requires_grad_": 'Freeze in TrainStep: optimizer={"layers.0.*": None, "*": wg.optim.Adam()}',
    "state_dict": "Write wg.save(path, model), or wg.tree.leaves(model)",
    "to": _CPU,
    "train": _NO_MODE,
    "zero_grad": _GRADIENTS,
}
OF_STEPS: Mapping[str, str] = {
    "backward": "Call it: step(x, y) computes gradients and updates the model",
    "eval": _NO_MODE,
    "fit": "Write step.run(x, y, batch_size=32, epochs=10)",
    "forward": "Write step.bind(lambda model, x: model(x))",
    "lr": "Write step.optimizer.lr",
    "parameters": "Write step.model",
    "params": "Write step.model",
    "predict": "Write predict = step.bind(lambda model, x: model(x)), and call predict(x)",
    "step": "Call it: step(x, y) computes gradients and updates the model",
    "train": "Write step.run(x, y, batch_size=32), or step(x, y) for one batch",
    "zero_grad": _GRADIENTS,
}


OF_GENERATORS: Mapping[str, str] = {
    "binomial": "Write rng.bernoulli(p, shape)",
    "dropout": "Write wg.dropout(x, rate, rng)",
    "integers": "Write rng.randint(shape, low, high)",
    "rand": "Write rng.uniform(shape)",
    "randn": "Write rng.normal(shape)",
    "random": "Write rng.uniform(shape)",
    "seed": "Pass seed= to wg.TrainStep, or make it of another key",
    "shuffle": "Write x[rng.permutation(x.shape[0])]",
    "split": "Write rng.fold_in(number); each call draws other numbers anyway",
    "standard_normal": "Write rng.normal(shape)",
}
OF_OPTIMIZERS: Mapping[str, str] = {
    "add_param_group": 'Write wg.TrainStep(loss, model, {"head.*": one, "*": other})',
    "apply_gradients": "Write params, state = optimizer.update(params, grads, state)",
    "backward": _GRADIENTS,
    "minimize": "Write step = wg.TrainStep(loss, model, optimizer), and call step(x, y)",
    "param_groups": 'Write wg.TrainStep(loss, model, {"head.*": one, "*": other})',
    "parameters": "Write step.model of a wg.TrainStep",
    "zero_grad": _GRADIENTS,
}


class Explained:
    """An object whose missing attributes are explained: by a table, or by the nearest name."""

    __slots__ = ()
    _repairs: ClassVar[Mapping[str, str]] = OF_LAYERS
    _nature: ClassVar[str] = "a layer is a dataclass of arrays, and a function"

    if not TYPE_CHECKING:  # type checkers would take every name for one that exists

        def __getattr__(self, name: str) -> NoReturn:
            kind = type(self)
            if name.startswith("_") or hasattr(kind, name) or name in _annotated(kind):
                raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
            repair = self._repairs.get(name)
            if repair is None:
                known = [each for each in dir(self) if not each.startswith("_")]
                found = nearest(name, known, ALIKE)
                repair = f"Write {found}" if found else f"It has {', '.join(known)}"
            raise MissingAttribute(
                f"{kind.__name__}.{name}: there is no such attribute; {self._nature}. {repair}."
            )


def _annotated(kind: type) -> set[str]:
    """The fields of a class: one that has not been set yet is missing in Python's own words."""
    return set(getattr(kind, "__dataclass_fields__", ()))


def explain_missing_names(namespace: dict[str, Any]) -> None:
    """Let a module, given its namespace, explain the names that it has not. Type checkers do not
    see this, and go on to report such names.
    """
    space = str(namespace["__name__"]).removeprefix(_PACKAGE).removeprefix(".")
    namespace["__getattr__"] = _explaining(space, namespace["__all__"])
    for name, ours in _classes_of_modules(namespace):
        namespace[name].__class__ = _Called
        namespace[name].meant = ours


def _explaining(space: str, known: Sequence[str]) -> Callable[[str], NoReturn]:
    def explain(name: str) -> NoReturn:
        shown = _shown(space)
        if name.startswith("_"):  # what Python and its tools look for
            raise AttributeError(f"module {shown!r} has no attribute {name!r}")
        raise MissingAttribute(
            f"{shown}.{name}: there is no such name; dir({shown}) lists those there are. "
            f"{_repair(space, name, known)}."
        )

    return explain


def _repair(space: str, name: str, known: Sequence[str]) -> str:
    tables = [REPAIRS.get(space, {}), *([OF_TENSORS, *REPAIRS.values()] if not space else [])]
    for table in tables:
        if name in table:
            return table[name]
    spaces = {space: known} | {each: _names_of(each) for each in _SPACES}
    for each, names in spaces.items():
        for other in names:
            if other.lower() == name.lower():
                return f"Write {_shown(each)}.{other}"
    theirs = None if space else getattr(np, name, None)
    if isinstance(theirs, Hashable) and (theirs in FUNCTIONS or theirs in UFUNCS):
        return f"Write np.{name}: it takes Tensors, too"
    found = nearest(name, known, MISTYPED)
    return f"Write {_shown(space)}.{found}" if found else "Write it with the functions of wg"


def _names_of(space: str) -> Sequence[str]:
    package = sys.modules[_PACKAGE]
    return getattr(getattr(package, space) if space else package, "__all__", ())


def _shown(space: str) -> str:
    return f"wg.{space}".rstrip(".")


def _classes_of_modules(namespace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The modules in a package that are named like a class in it but for the case."""
    classes = {name.lower(): name for name in namespace["__all__"]}
    for name, each in tuple(namespace.items()):
        own = isinstance(each, ModuleType) and each.__name__.startswith(f"{_PACKAGE}.")
        if own and name in classes and classes[name] != name:
            yield name, f"{_shown(namespace['__name__'].partition('.')[2])}.{classes[name]}"


class _Called(ModuleType):
    """A module that was called in the place of the class that is named like it."""

    meant: str

    def __call__(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TypeError(
            f"{_shown(self.__name__.partition('.')[2])}: this is a module, and was called; the "
            f"class is {self.meant}. Write {self.meant}(…)."
        )
