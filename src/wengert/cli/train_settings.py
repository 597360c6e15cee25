"""The settings of a training run: flags, a TOML file, defaults, and what each may be."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from wengert.cli.datasets.learning_task import DataChoices
from wengert.cli.datasets.preparation import CLASSIFICATION, DROP, FILL, REFUSE, REGRESSION
from wengert.cli.exit_codes import UsageFault
from wengert.core.words.foreign_names.nearest import ALIKE, nearest
from wengert.nn.activations import ACTIVATIONS

OPTIMIZERS = {
    "adam": "Adam",
    "adamw": "AdamW",
    "sgd": "SGD",
    "rmsprop": "RMSProp",
    "adagrad": "Adagrad",
    "radam": "RAdam",
    "lion": "Lion",
    "lamb": "Lamb",
    "lars": "Lars",
}
SCHEDULES = ("constant", "cosine", "linear", "exponential", "onecycle")
MOST_LAYERS, WIDEST = 64, 65536

Test = Callable[[Any], bool]


@dataclass(frozen=True)
class TrainSettings:
    """All that decides how a run goes. A run keeps them in config.toml."""

    data: str = ""
    target: str | None = None
    task: str | None = None
    categorical: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    missing: str = REFUSE
    delimiter: str | None = None
    header: bool = True
    validation: float = 0.2
    layers: tuple[int, ...] = (128, 64)
    activation: str = "relu"
    dropout: float = 0.0
    optimizer: str = "adam"
    lr: float = 0.002
    momentum: float | None = None
    weight_decay: float | None = None
    schedule: str = "constant"
    warmup: float = 0.0  # epochs
    clip: float | None = None
    batch_size: int = 32
    epochs: int = 40
    patience: int = 0
    seed: int = 0
    threads: int | None = None

    def choices(self) -> DataChoices:
        return DataChoices(
            self.target,
            self.task,
            self.categorical,
            self.ignore,
            self.keep,
            self.missing,
            self.validation,
            self.seed,
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_dict(cls, saved: Mapping[str, Any]) -> TrainSettings:
        """What `as_dict` gave, through JSON or not."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in saved.items()
        }
        return cls(**values)


@dataclass(frozen=True)
class _Rule:
    """What the value of a setting is made from, and must be."""

    kinds: tuple[type, ...]
    holds: Test = field(default=lambda value: True)
    words: str = "a text"
    many: bool = False
    names: Sequence[str] = ()  # the values that there are, where there are few


def _one_of(names: Sequence[str]) -> _Rule:
    words = f"one of {', '.join(names)}"
    return _Rule((str,), lambda value: value in names, words, names=names)


def _whole(least: int, most: int = 2**31) -> _Rule:
    words = f"a whole number, at least {least}"
    return _Rule((int,), lambda value: least <= value <= most, words)


def _number(holds: Test, words: str) -> _Rule:
    return _Rule((int, float), lambda value: math.isfinite(value) and holds(value), words)


RULES: Mapping[str, _Rule] = {
    "data": _Rule((str,)),
    "target": _Rule((str,)),
    "task": _one_of((CLASSIFICATION, REGRESSION)),
    "categorical": _Rule((str,), words="a list of names of columns", many=True),
    "ignore": _Rule((str,), words="a list of names of columns", many=True),
    "keep": _Rule((str,), words="a list of names of columns", many=True),
    "missing": _one_of((REFUSE, DROP, FILL)),
    "delimiter": _Rule((str,), lambda value: bool(value), "a character"),
    "header": _Rule((bool,), words="true or false"),
    "validation": _number(lambda value: 0 < value <= 0.9, "above 0, and at most 0.9"),
    "layers": _Rule(
        (int,),
        lambda value: 1 <= value <= WIDEST,
        f"a list of sizes from 1 to {WIDEST}, such as 128,64",
        many=True,
    ),
    "activation": _one_of(tuple(ACTIVATIONS)),
    "dropout": _number(lambda value: 0 <= value < 1, "at least 0, and below 1"),
    "optimizer": _one_of(tuple(OPTIMIZERS)),
    "lr": _number(lambda value: value > 0, "a number above 0"),
    "momentum": _number(lambda value: 0 <= value < 1, "at least 0, and below 1"),
    "weight_decay": _number(lambda value: value >= 0, "a number, at least 0"),
    "schedule": _one_of(SCHEDULES),
    "warmup": _number(lambda value: value >= 0, "a number of epochs, at least 0"),
    "clip": _number(lambda value: value > 0, "a number above 0"),
    "batch_size": _whole(1),
    "epochs": _whole(1),
    "patience": _whole(0),
    "seed": _whole(0, 2**63 - 1),
    "threads": _whole(1, 4096),
}
assert list(RULES) == [each.name for each in fields(TrainSettings)]


def flag(name: str) -> str:
    """How a setting is given on the command line."""
    return "--no-header" if name == "header" else f"--{name.replace('_', '-')}"


def require_setting(name: str, value: Any, given_as: str) -> Any:
    """The value of a setting, checked; `given_as` names it in errors."""
    rule = RULES[name]
    if rule.many:
        if not isinstance(value, list | tuple) or (name == "layers" and len(value) > MOST_LAYERS):
            raise UsageFault(f"{given_as}: given {value!r}; it must be {rule.words}.")
        for each in value:
            _require_one(rule, each, given_as)
        return tuple(value)
    _require_one(rule, value, given_as)
    return float(value) if float in rule.kinds else value


def _require_one(rule: _Rule, value: Any, given_as: str) -> None:
    if not _is_of(value, rule.kinds):
        raise UsageFault(f"{given_as}: given {value!r}; it must be {rule.words}.")
    if not rule.holds(value):
        guess = nearest(value.lower(), rule.names, ALIKE) if rule.names else None
        meant = f" Did you mean {guess}?" if guess else ""
        raise UsageFault(f"{given_as}: given {value!r}; it must be {rule.words}.{meant}")


def _is_of(value: Any, kinds: tuple[type, ...]) -> bool:
    """Whether a value is of one of these kinds; True is no number."""
    return isinstance(value, kinds) and isinstance(value, bool) is (bool in kinds)


def read_config(path: Path) -> dict[str, Any]:
    """The settings in a TOML file. A key that is not known is an error."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageFault(f"--config: there is no file {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageFault(f"--config: {path} cannot be read ({error}).") from None
    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageFault(f"{path}: is not TOML: {error}.") from None
    for key, value in settings.items():
        if key.replace("-", "_") not in RULES:
            raise UsageFault(_unknown_key(path, text, key))
        if isinstance(value, dict):
            raise UsageFault(
                f"{path}: {key} is a table; settings stand at the top, without tables."
            )
    return {
        key.replace("-", "_"): require_setting(
            key.replace("-", "_"), value, f"{path}:{_line_of(text, key)}: {key}"
        )
        for key, value in settings.items()
    }


def _line_of(text: str, key: str) -> int:
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if line.partition("=")[0].strip().strip("\"'[]") == key:
            return number
    return 1


def _unknown_key(path: Path, text: str, key: str) -> str:
    guess = nearest(called_here(key), RULES, ALIKE)
    meant = f"Did you mean {guess}?" if guess else f"The settings are {', '.join(RULES)}."
    return f"{path}:{_line_of(text, key)}: {key!r} is no setting. {meant}"


def called_here(key: str) -> str:
    """The setting that other programs call by this name."""
    known = {
        "learning_rate": "lr",
        "hidden_layer_sizes": "layers",
        "hidden": "layers",
        "clip_norm": "clip",
        "validation_split": "validation",
        "validation_fraction": "validation",
        "test_size": "validation",
        "max_iter": "epochs",
        "max_epochs": "epochs",
        "early_stopping": "patience",
        "random_state": "seed",
        "label": "target",
        "y": "target",
        "drop": "ignore",
        "exclude": "ignore",
        "n_jobs": "threads",
    }
    return known.get(key.lower(), key.lower())


def merged(config: Mapping[str, Any], flags: Mapping[str, Any]) -> TrainSettings:
    """Settings of a file and flags that were given, all of them checked; a flag wins."""
    settings, default = replace(TrainSettings(), **{**config, **flags}), TrainSettings()
    for name in ("dropout", "activation"):
        value, usual = getattr(settings, name), getattr(default, name)
        if not settings.layers and value != usual:
            raise UsageFault(
                f"{flag(name)}: given {value} with --layers none, a linear model, which has no "
                f"hidden units for it. Leave it out, or give --layers sizes, such as 128,64."
            )
    return settings


def parsed_layers(text: str | None) -> tuple[int, ...] | None:
    """Sizes as they are typed: 128,64. `none` is a linear model."""
    if text is None:
        return None
    if text.strip().lower() in ("none", "0", ""):
        return ()
    try:
        return tuple(int(each) for each in text.replace("x", ",").split(","))
    except ValueError:
        raise UsageFault(
            f"--layers: given {text!r}; it must be sizes with commas between them. Write "
            "--layers 128,64, or --layers none for a linear model."
        ) from None
