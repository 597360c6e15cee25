"""The optimizers that are compared with torch's: class and arguments, which both take alike.

Rates are such that the minimum is not reached. Around it, steps that do not grow shorter with the
gradient turn a difference of one rounding into any difference.
"""

CASES = {
    "sgd": ("SGD", {"lr": 0.05}),
    "sgd decay": ("SGD", {"lr": 0.05, "weight_decay": 0.1}),
    "sgd momentum": ("SGD", {"lr": 0.01, "momentum": 0.9}),
    "sgd dampening": ("SGD", {"lr": 0.02, "momentum": 0.8, "dampening": 0.3}),
    "sgd nesterov": (
        "SGD",
        {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    ),
    "adam": ("Adam", {"lr": 0.03}),
    "adam decay": ("Adam", {"lr": 0.03, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.1}),
    "adam amsgrad": ("Adam", {"lr": 0.03, "amsgrad": True}),
    "adamw": ("AdamW", {"lr": 0.03}),
    "adamw decay": ("AdamW", {"lr": 0.03, "weight_decay": 0.3, "amsgrad": True}),
    "rmsprop": ("RMSProp", {"lr": 0.004}),
    "rmsprop centered": ("RMSProp", {"lr": 0.002, "centered": True}),
    "rmsprop momentum": (
        "RMSProp",
        {"lr": 0.005, "momentum": 0.7, "weight_decay": 0.1, "centered": True, "eps": 1e-4},
    ),
    "adagrad": ("Adagrad", {"lr": 0.2}),
    "adagrad decay": (
        "Adagrad",
        {"lr": 0.3, "lr_decay": 0.02, "weight_decay": 0.05, "initial_accumulator_value": 0.1},
    ),
    "radam": ("RAdam", {"lr": 0.03}),
    "radam decay": ("RAdam", {"lr": 0.03, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    "radam decoupled": (
        "RAdam",
        {"lr": 0.03, "weight_decay": 0.1, "decoupled_weight_decay": True},
    ),
}
