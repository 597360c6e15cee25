"""A dataclass of Python numbers, which are settings, where parameters are meant."""

from dataclasses import dataclass


@dataclass
class Moments:
    mean: float = 0.0
    std: float = 1.0
