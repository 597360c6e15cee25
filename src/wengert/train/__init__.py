"""Training: TrainStep, and what it reports."""

from wengert.train.checking import Check
from wengert.train.history import Epoch, History, Last
from wengert.train.step import TrainStep

__all__ = ["Check", "Epoch", "History", "Last", "TrainStep"]
