"""Sets to learn from that need no file: scikit-learn's small ones, and one that is made here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.cli.datasets.data_table import Array, Column, DataTable, texts
from wengert.cli.exit_codes import MissingPackage

TARGET = "target"
HOUSES = 4000
SETS = {
    "digits": "1797 images of 8 × 8 pixels of handwritten digits; ten classes",
    "wine": "178 wines by 13 measurements; three classes",
    "breast-cancer": "569 tumours by 30 measurements; benign or malignant",
    "diabetes": "442 patients by 10 measurements; how the illness went on, a number",
    "housing": f"{HOUSES} made-up districts like California's by 8 measurements; a price",
}


def read_builtin(name: str) -> DataTable:
    """The table of a built-in set, with its target in the column `target`."""
    if name == "housing":
        return _housing()
    try:
        from sklearn import datasets
    except ImportError:
        raise MissingPackage("scikit-learn", f"the set {name!r}", "'wengert[cli]'") from None
    # As they were measured: scikit-learn would scale those of diabetes.
    options = {"scaled": False} if name == "diabetes" else {}
    loaded = getattr(datasets, f"load_{name.replace('-', '_')}")(**options)
    columns = _columns([str(each) for each in loaded.feature_names], loaded.data)
    return DataTable(name, (*columns, Column(TARGET, _target(loaded))))


def _columns(names: Sequence[str], data: Array) -> list[Column]:
    return [Column(name, data[:, i].astype(np.float64)) for i, name in enumerate(names)]


def _target(loaded: Any) -> Array:
    classes = getattr(loaded, "target_names", None)
    if classes is None:
        return np.asarray(loaded.target, np.float64)
    return texts(str(classes[i]) for i in loaded.target)


def _housing() -> DataTable:
    """Districts with an income, houses, people and a place: the price depends on all of them, not
    linearly and with noise, and is cut off at 5 as in California's census. The same in every call.
    """
    rng = np.random.default_rng(1990)
    income = np.exp(rng.normal(1.2, 0.45, HOUSES))
    age = rng.uniform(1, 52, HOUSES).round()
    rooms = 2.5 + 0.8 * income + rng.gamma(2.0, 0.5, HOUSES)
    bedrooms = rooms * rng.uniform(0.17, 0.24, HOUSES)
    population = np.exp(rng.normal(7.0, 0.7, HOUSES)).round()
    occupancy = 1.5 + rng.gamma(3.0, 0.5, HOUSES)
    along = rng.uniform(0, 1, HOUSES)  # of the coast, from south to north
    inland = rng.gamma(1.2, 0.9, HOUSES)
    latitude = 32.6 + 9.2 * along
    longitude = -117.2 - 7.0 * along + inland
    cities = np.exp(-(((latitude - 34.0) / 0.9) ** 2)) + np.exp(-(((latitude - 37.7) / 0.8) ** 2))
    price = (
        0.45 * income
        + 0.9 * np.exp(-inland)
        + 0.6 * cities * np.exp(-inland / 2)
        + 0.004 * age
        - 0.25 * np.log(occupancy)
        + rng.normal(0, 0.25, HOUSES)
    )
    measured = {
        "income": income,
        "age": age,
        "rooms": rooms,
        "bedrooms": bedrooms,
        "population": population,
        "occupancy": occupancy,
        "latitude": latitude,
        "longitude": longitude,
    }
    columns = [Column(name, values) for name, values in measured.items()]
    return DataTable("housing", (*columns, Column(TARGET, np.clip(price, 0.15, 5.0))))
