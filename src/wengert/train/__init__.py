"""Training: TrainStep, what it reports, and `fit`, a whole training in one call."""

from wengert.core.words.foreign_names.missing import explain_missing_names
from wengert.train import metrics
from wengert.train.ensemble.each import each
from wengert.train.ensemble.ensemble import Ensemble
from wengert.train.ensemble.ensemble_function import EnsembleFunction
from wengert.train.ensemble.reports import EnsembleEpoch, EnsembleHistory, EnsembleLast
from wengert.train.ensemble.runs.member_orders import bootstrap_rows
from wengert.train.fitting.epoch_record import EpochRecord
from wengert.train.fitting.fit import fit
from wengert.train.fitting.loggers import log_csv, log_jsonl, log_tensorboard, log_wandb
from wengert.train.fitting.stopping import EarlyStopping
from wengert.train.runs.history import Epoch, History, Last
from wengert.train.step import TrainStep
from wengert.train.step_check import Check

__all__ = [
    "Check",
    "EarlyStopping",
    "Ensemble",
    "EnsembleEpoch",
    "EnsembleFunction",
    "EnsembleHistory",
    "EnsembleLast",
    "Epoch",
    "EpochRecord",
    "History",
    "Last",
    "TrainStep",
    "bootstrap_rows",
    "each",
    "fit",
    "log_csv",
    "log_jsonl",
    "log_tensorboard",
    "log_wandb",
    "metrics",
]

explain_missing_names(globals())
del explain_missing_names
