"""What other libraries call what we have, and what to write instead: by module."""

from __future__ import annotations

from collections.abc import Mapping

from wengert.core.words.foreign_names.repairs_of_objects import CPU, GRADIENTS
from wengert.core.words.foreign_names.schedule_names import THEIR_SCHEDULES

_A_DATACLASS = "Write a dataclass with layers and arrays as fields, and define its __call__"
_KEYS = "Write wg.random.normal(key, shape), with key = wg.random.key(seed)"
_DRAWN_LIKE = (
    "Write rng.normal(x.shape, x.dtype) in a loss with a parameter rng, else "
    "wg.random.normal(key, x.shape, x.dtype)"
)
_BATCHES = "Write step.run(x, y, batch_size=32), which makes batches of arrays"
_BINARY = "Write wg.bce_with_logits(logits, targets)"
_CLASSES = "Write wg.cross_entropy(logits, targets)"
_CLIP_NORM = (
    "Write wg.TrainStep(loss, model, optimizer, clip_norm=1.0), or "
    "wg.optim.clip_by_global_norm(grads, 1.0)"
)
_FOURIER = (
    "There are no complex arrays. Of a real x write real, imag = wg.fft.rfft(x), along one axis; "
    "of a complex field, a pair (re, im), re @ c + im @ s and im @ c - re @ s along its last axis, "
    "where c and s are np.cos and np.sin of 2 * np.pi * np.outer(i, i) / n, with i = np.arange(n)"
)
_HUBER = "Write wg.huber(predictions, targets)"
_MAE = "Write wg.mae(predictions, targets)"
_MSE = "Write wg.mse(predictions, targets)"
_RAVEL = (
    "Write np.concatenate([x.ravel() for x in wg.tree.leaves(tree)]); the page of names, "
    "docs/names.md, has the way back"
)
_INTEGRALS = (
    "Write wg.odeint(f, y0, times), where f(y, t) has the time last; an integral is a sum over "
    "points, np.trapezoid(f(x), x)"
)
_SEED = "Pass seed= to layers and to wg.TrainStep, or begin with wg.nn.seed(0)"
_EPOCHS = "Write for epoch in step.epochs(x, y, batch_size=32): and do it there"
# What metrics are called elsewhere.
THEIR_METRICS: Mapping[str, str] = {
    "acc": "accuracy",
    "accuracy_score": "accuracy",
    "auroc": "auc",
    "balanced_accuracy_score": "balanced_accuracy",
    "BinaryAccuracy": "accuracy",
    "categorical_accuracy": "accuracy",
    "CategoricalAccuracy": "accuracy",
    "f1_score": "f1",
    "F1Score": "f1",
    "mean_absolute_error": "mae",
    "mean_squared_error": "mse",
    "MeanAbsoluteError": "mae",
    "MeanSquaredError": "mse",
    "precision_score": "precision",
    "r2_score": "r2",
    "R2Score": "r2",
    "recall_score": "recall",
    "roc_auc": "auc",
    "roc_auc_score": "auc",
    "root_mean_squared_error": "rmse",
    "sparse_categorical_accuracy": "accuracy",
    "SparseCategoricalAccuracy": "accuracy",
    "top_k_accuracy_score": "top_k",
}
# By module below wg.
_SEARCH = (
    'Write wg.optim.LBFGS(max_iter=200, line_search_fn="strong_wolfe").minimize(f, start), or call '
    "scipy.optimize with wg.compile(wg.value_and_grad(f)) and jac=True"
)
_RESIDUALS = (
    "Of residuals minimise the sum of squares, or give SciPy jac=wg.compile(wg.jacfwd(residuals))"
)
REPAIRS: Mapping[str, Mapping[str, str]] = {
    "": {
        "angle": "There are no complex numbers; of a point (x, y) write wg.atan2(y, x)",
        "argwhere": (
            "How many there are depends on the values: write np.argwhere(x) outside of recorded "
            "functions, and wg.where(mask, x, 0) inside"
        ),
        "as_tensor": "Write np.asarray",
        **dict.fromkeys(
            ("egrad", "elementwise_grad"),
            "Write wg.grad(lambda x: wg.sum(f(x)))(x), or wg.vmap(wg.grad(f))(x)",
        ),
        "autograd": "Write wg.grad(f)(x)",
        "backward": "Write wg.grad(f)(x), where f computes the loss from x",
        **dict.fromkeys(
            (
                "binary_cross_entropy_with_logits",
                "sigmoid_binary_cross_entropy",
                "sigmoid_cross_entropy",
            ),
            _BINARY,
        ),
        "binary_cross_entropy": f"{_BINARY}: it takes logits, not probabilities",
        **dict.fromkeys(
            ("discount", "discount_cumsum", "discounted_cumsum", "discounted_returns"),
            "Write wg.linear_recurrence(gamma, rewards, reverse=True)",
        ),
        **dict.fromkeys(
            ("polyak_update", "soft_update"),
            "Train with wg.optim.EMA(optimizer, decay=1 - tau), or write wg.tree.map(lambda t, w: "
            "(1 - tau) * t + tau * w, target, model)",
        ),
        "cat": "Write wg.concat([x, y], axis=0)",
        "clamp": "Write wg.clip(x, low, high)",
        **dict.fromkeys(("clip_grad_norm", "clip_grad_norm_"), _CLIP_NORM),
        **dict.fromkeys(
            ("complex64", "complex128"),
            "There are no complex numbers; compute with their real and imaginary parts",
        ),
        "concatenate": "Write wg.concat([x, y], axis=0)",
        "cuda": CPU,
        "custom_gradient": "Write @wg.custom_vjp",
        "custom_jvp": "Write @wg.custom_vjp, or define an op with wg.op.elementwise",
        "config": "Leave it out: dtypes are those of your arrays",
        **dict.fromkeys(("data", "DataLoader", "Dataset", "TensorDataset"), _BATCHES),
        "device": CPU,
        "device_put": CPU,
        "each": "Write wg.train.each(x)",
        "enable_grad": GRADIENTS,
        "eval_shape": "Write wg.trace(f, x): the printed program shows the shapes",
        "expit": "Write wg.sigmoid(x)",
        "F": "Write wg.relu, wg.softmax, wg.cross_entropy …: functions are in wg itself",
        "flatten_util": _RAVEL,
        "flatten": "Write x.reshape(-1)",
        "fori_loop": "Write wg.scan(lambda carry, i: (f(i, carry), None), init, np.arange(n))",
        "from_numpy": "Leave it out: arrays are NumPy's",
        "gammaln": "Write wg.lgamma(x)",
        **dict.fromkeys(("huber_loss", "smooth_l1", "smooth_l1_loss"), _HUBER),
        "integrate": _INTEGRALS,
        "inference_mode": "Leave it out: nothing is differentiated outside of wg.grad",
        "jit": "Write wg.compile(f)",
        "func": "Write wg.grad, wg.vmap, wg.jacrev …: transformations are in wg itself",
        "keras": "Write wg.nn for layers, wg.TrainStep and wg.train.fit for training",
        "l1_loss": _MAE,
        **dict.fromkeys(("layers", "models"), "Write wg.nn.Linear, wg.nn.Sequential …"),
        "losses": "Write wg.cross_entropy, wg.mse …: losses are in wg itself",
        "lax": "Write wg.scan, wg.while_loop or wg.cond",
        "make_jaxpr": "Write wg.trace(f, x)",
        **dict.fromkeys(("manual_seed", "seed", "seed_everything", "set_seed"), _SEED),
        **dict.fromkeys(("Model", "Trainer"), "Write step = wg.TrainStep(loss, model, optimizer)"),
        "mse_loss": _MSE,
        "nll_loss": _CLASSES,
        "no_grad": (
            "Leave it out: nothing is differentiated outside of wg.grad, and inside "
            "wg.stop_gradient(x) is not"
        ),
        "numpy": "Write import numpy as np: its functions take Tensors, too",
        "optimize": "Write wg.optim.LBFGS().minimize(f, tree): its result has .tree and .value",
        **dict.fromkeys(("optimizers", "schedules"), "Write wg.optim"),
        "pmap": "There is none; compiled code uses all CPUs by itself",
        "psi": "Write wg.digamma(x)",
        "rand": _KEYS.replace("normal", "uniform"),
        "randn": _KEYS,
        "rand_like": _DRAWN_LIKE.replace("normal", "uniform"),
        "randn_like": _DRAWN_LIKE,
        "remat": "Write wg.checkpoint(f)",
        "repeat_interleave": "Write wg.repeat(x, count, axis=axis)",
        "scaled_dot_product_attention": "Write wg.attention(q, k, v, mask, causal)",
        "scatter": "Write wg.scatter_add(x, index, values)",
        "sliding_window_view": (
            "Write np.lib.stride_tricks.sliding_window_view: it takes Tensors, too"
        ),
        **dict.fromkeys(
            ("softmax_cross_entropy", "softmax_cross_entropy_with_integer_labels"), _CLASSES
        ),
        "set_default_dtype": "Leave it out: dtypes are those of your arrays; layers take dtype=",
        "solve_ivp": "Write wg.odeint(f, y0, times), where f(y, t) has the time last",
        "switch": "Write wg.cond(i == 0, first, lambda x: wg.cond(i == 1, second, third, x), x)",
        "tensor": "Write np.array",
        "tree_leaves": "Write wg.tree.leaves(tree)",
        **dict.fromkeys(
            ("top_k", "topk"),
            "Write wg.sort(x, axis=-1)[..., -k:], and wg.argsort for the places; the largest is "
            "the last",
        ),
        "ravel": "Write x.reshape(-1)",
        "tree_map": "Write wg.tree.map(f, tree)",
        "tree_util": "Write wg.tree.map(f, tree)",
        "Variable": "Write the array itself: float arrays of a model are its parameters",
        "utils": _BATCHES,
        **dict.fromkeys(("float16", "bfloat16"), "Write np.float32"),
    },
    "nn": {
        **dict.fromkeys(("clip_grad_norm", "clip_grad_norm_"), _CLIP_NORM),
        "utils": f"{_CLIP_NORM}. For sequences of several lengths, pad them to one and mask what "
        "is behind their ends",
        "DataLoader": _BATCHES,
        "BatchNorm1d": "Write wg.nn.BatchNorm(size)",
        **dict.fromkeys(
            ("BatchNorm2d", "BatchNorm3d"),
            "Write wg.nn.BatchNorm(size, axis=1), for (batch, channels, *space)",
        ),
        **dict.fromkeys(
            ("AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d"),
            "Write wg.nn.AdaptiveMeanPool(size)",
        ),
        **dict.fromkeys(
            ("AvgPool1d", "AvgPool2d", "AvgPool3d"), "Write wg.nn.MeanPool(window, stride=None)"
        ),
        **dict.fromkeys(
            ("MaxPool1d", "MaxPool2d", "MaxPool3d"), "Write wg.nn.MaxPool(window, stride=None)"
        ),
        **dict.fromkeys(
            ("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"),
            "Write wg.nn.InstanceNorm(channels)",
        ),
        "BCELoss": f"{_BINARY}: it takes logits, not probabilities",
        "BCEWithLogitsLoss": _BINARY,
        "CrossEntropyLoss": _CLASSES,
        "functional": "Write wg.relu, wg.softmax, wg.cross_entropy …: functions are in wg itself",
        "GRUCell": "Write cell = wg.nn.GRU(in_size, hidden_size), and cell.step(x, h)",
        "HuberLoss": _HUBER,
        "Identity": 'Write "identity"',
        "L1Loss": _MAE,
        "Lambda": (
            "Put the function itself among the layers: wg.nn.Sequential(wg.nn.Linear(3, 2), "
            "function)"
        ),
        "LSTMCell": "Write cell = wg.nn.LSTM(in_size, hidden_size), and cell.step(x, (h, memory))",
        "Module": _A_DATACLASS,
        "ModuleList": "Write a list",
        "MSELoss": _MSE,
        "NLLLoss": _CLASSES,
        "Parameter": "Write the array itself: float arrays of a model are its parameters",
        "RNNCell": "Write cell = wg.nn.RNN(in_size, hidden_size), and cell.step(x, h)",
        **dict.fromkeys(
            ("MultiHeadAttention", "MultiHeadDotProductAttention", "SelfAttention"),
            "Write wg.nn.MultiheadAttention(size, heads)",
        ),
        **dict.fromkeys(
            ("Transformer", "TransformerEncoder", "TransformerEncoderLayer"),
            "Write a list of wg.nn.TransformerBlock(size, heads)",
        ),
        "PositionalEncoding": "Write wg.nn.SinusoidalPositions(size)",
        "SmoothL1Loss": _HUBER,
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
    "tree": {
        **dict.fromkeys(
            ("ravel", "ravel_pytree"),
            _RAVEL,
        ),
        "structure": "Write wg.tree.flatten(tree)[1]",
        "tree_flatten": "Write wg.tree.flatten(tree)",
        "tree_leaves": "Write wg.tree.leaves(tree)",
        "tree_map": "Write wg.tree.map(f, tree)",
        "tree_unflatten": "Write wg.tree.unflatten(structure, leaves)",
    },
    "optim": {
        **dict.fromkeys(("BFGS", "fmin_bfgs", "fmin_l_bfgs_b", "minimize"), _SEARCH),
        **dict.fromkeys(("curve_fit", "least_squares", "leastsq"), f"{_SEARCH}. {_RESIDUALS}"),
        **dict.fromkeys(("clip_grad_norm", "clip_grad_norm_"), _CLIP_NORM),
        "apply_updates": "Write params, state = optimizer.update(params, grads, state)",
        "chain": (
            "Write wg.TrainStep(loss, model, optimizer, clip_norm=1.0) for clipping, and "
            "wg.optim.warmup_then or wg.optim.Chain for schedules one after the other"
        ),
        "inject_hyperparams": "Leave it out: write step.optimizer.lr = rate of a wg.TrainStep",
        **dict.fromkeys(
            ("masked", "multi_transform"),
            'Write wg.TrainStep(loss, model, {"head.*": one, "*": other})',
        ),
        **THEIR_SCHEDULES,
    },
    "train": {
        **dict.fromkeys(("Callback", "callbacks", "LambdaCallback"), _EPOCHS),
        "CSVLogger": "Write wg.train.fit(…, callbacks=wg.train.log_csv(path))",
        **dict.fromkeys(("DataLoader", "Dataset", "TensorDataset"), _BATCHES),
        "evaluate": "Write step.evaluate(f, x, y, batch_size=32)",
        "ModelCheckpoint": "Write wg.train.fit(…, checkpoint=path)",
        "TensorBoard": "Write wg.train.fit(…, callbacks=wg.train.log_tensorboard(folder))",
        **dict.fromkeys(("Trainer", "train"), "Write step = wg.TrainStep(loss, model, optimizer)"),
        "WandbLogger": "Write wg.train.fit(…, callbacks=wg.train.log_wandb(run))",
    },
    "train.metrics": {
        theirs: f"Write wg.train.metrics.{ours}(target, prediction)"
        for theirs, ours in THEIR_METRICS.items()
    },
    "random": {
        "binomial": "Write wg.sum(wg.random.bernoulli(key, p, (n, *shape)), axis=0)",
        "default_rng": "Write wg.random.Generator(wg.random.key(seed))",
        "integers": "Write wg.random.randint(key, shape, low, high)",
        "laplace": (
            "Write wg.random.exponential(first, shape) - wg.random.exponential(second, shape), "
            "with two keys"
        ),
        "lognormal": "Write wg.exp(wg.random.normal(key, shape))",
        "multinomial": "Write wg.random.categorical(key, wg.log(p), shape), which draws classes",
        "multivariate_normal": (
            "Write wg.distributions.MultivariateNormal(mean, factor).sample(key, shape)"
        ),
        "random": _KEYS.replace("normal", "uniform"),
        "standard_normal": _KEYS,
        "PRNGKey": "Write wg.random.key(seed)",
        "rand": _KEYS.replace("normal", "uniform"),
        "randn": _KEYS,
        "rand_like": _DRAWN_LIKE.replace("normal", "uniform"),
        "randn_like": _DRAWN_LIKE,
        **dict.fromkeys(
            ("manual_seed", "seed"), "Write key = wg.random.key(seed), and pass the key"
        ),
        "shuffle": "Write x[wg.random.permutation(key, x.shape[0])]",
    },
    "distributions": {
        "kl_divergence": "Write wg.distributions.kl(p, q)",
        **dict.fromkeys(("Gaussian", "Norm"), "Write wg.distributions.Normal(mean, std)"),
        "MultivariateNormalTriL": "Write wg.distributions.MultivariateNormal(mean, factor)",
        **dict.fromkeys(
            ("DiagGaussian", "DiagonalGaussian", "MultivariateNormalDiag"),
            "Write p = wg.distributions.Normal(mean, std), and wg.sum(p.log_prob(x), axis=-1)",
        ),
        "Exponential": "Write wg.distributions.Gamma(1.0, rate), which is that distribution",
        "Chi2": "Write wg.distributions.Gamma(n / 2, 0.5), which is that distribution",
        "LogNormal": (
            "Write wg.distributions.Normal(mean, std): log_prob(wg.log(x)) - wg.log(x) is the "
            "density, and wg.exp(p.sample(key)) a draw"
        ),
        "Dirichlet": "Draw with wg.random.dirichlet(key, alpha); there is no log_prob of it yet",
        "Poisson": "Draw with wg.random.poisson(key, rate); there is no log_prob of it yet",
        "Independent": "Add up log_prob over its last axes: wg.sum(p.log_prob(x), axis=-1)",
        "TransformedDistribution": "Write wg.distributions.TanhNormal(mean, std), or its formula",
    },
    "fft": {
        **dict.fromkeys(("fft", "fft2", "fftn", "hfft", "rfft2", "rfftn"), _FOURIER),
        **dict.fromkeys(
            ("ifft", "ifft2", "ifftn", "ihfft", "irfft2", "irfftn"),
            f"{_FOURIER}; the inverse has -s for s, and is divided by n",
        ),
        "fftfreq": "Write np.fft.rfftfreq(n), the frequencies of wg.fft.rfft",
        "rfftfreq": "Write np.fft.rfftfreq(n), the frequencies of wg.fft.rfft",
    },
    "linalg": {
        "cho_factor": (
            "Write factor = wg.linalg.cholesky(x), and wg.linalg.cho_solve((factor, True), b)"
        ),
        "cond": "Write s = wg.linalg.svdvals(x), and s[..., 0] / s[..., -1]",
        "eig": "Of symmetric matrices write wg.linalg.eigh(x); there is none for others yet",
        "eigvals": (
            "Of symmetric matrices write wg.linalg.eigvalsh(x); there is none for others yet"
        ),
    },
}
