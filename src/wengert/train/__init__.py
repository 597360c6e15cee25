"""Training: TrainStep, and what it reports."""

from wengert.train.runs.history import Epoch, History, Last
from wengert.train.step import TrainStep
from wengert.train.step_check import Check

__all__ = ["Check", "Epoch", "History", "Last", "TrainStep"]
