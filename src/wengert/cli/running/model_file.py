"""model.safetensors: the weights of a run, and all that a prediction needs beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wengert.cli.datasets.preparation import Preparation
from wengert.cli.exit_codes import RunFault
from wengert.cli.running.table_network import make_model, make_step
from wengert.cli.train_settings import TrainSettings
from wengert.core import tree
from wengert.errors import CheckpointError, MissingFile
from wengert.train.checkpoints.files import load, save
from wengert.train.step import TrainStep

_FORM = 1  # of what stands in `about`


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model with what it was made from."""

    weights: Any
    preparation: Preparation
    settings: TrainSettings
    facts: dict[str, Any]  # of the run: the best epoch, fingerprints

    def step(self, threads: int | None = None) -> TrainStep:
        """A step with these weights, for its bound functions."""
        step = make_step(self.preparation, self.settings, self.settings.batch_size, threads)
        step.model = self.weights
        return step


def save_model(path: Path, model: SavedModel) -> None:
    about = {
        "form": _FORM,
        "preparation": model.preparation.as_dict(),
        "settings": model.settings.as_dict(),
        "facts": model.facts,
    }
    arrays = dict(zip(tree.paths(model.weights), tree.leaves(model.weights), strict=True))
    save(path, {"model": arrays, "about": json.dumps(about)})


def load_model(path: Path) -> SavedModel:
    """What `save_model` wrote. Anything else is refused."""
    try:
        contents = load(path)
        about = json.loads(contents["about"])
        if about["form"] != _FORM:
            raise RunFault(
                f"{path}: was written in form {about['form']}; this version of Wengert reads form "
                f"{_FORM}. Train again, or install the version that wrote it."
            )
        preparation = Preparation.of_dict(about["preparation"])
        settings = TrainSettings.of_dict(about["settings"])
        weights = _filled(make_model(preparation, settings), contents["model"])
    except MissingFile:
        raise RunFault(
            f"{path}: there is no such file; `wengert train` writes one into each run."
        ) from None
    except CheckpointError as error:
        raise RunFault(f"{path}: is no model of `wengert train`: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise RunFault(
            f"{path}: is no model of `wengert train` ({type(error).__name__}: {error})."
        ) from None
    return SavedModel(weights, preparation, settings, about["facts"])


def _filled(model: Any, arrays: Mapping[str, Any]) -> Any:
    """The model with arrays of a file, by their paths."""
    leaves, structure = tree.flatten(model)
    loaded = [arrays[path] for path in tree.paths(model)]
    for x, other in zip(leaves, loaded, strict=True):
        if x.shape != other.shape:
            raise ValueError(f"an array has shape {other.shape} in place of {x.shape}")
    return tree.unflatten(structure, loaded)
