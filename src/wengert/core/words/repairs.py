"""What other libraries call what we have, and what to write instead: by module, and by kind of
object.
"""

from __future__ import annotations

from collections.abc import Mapping

_CPU = "Leave it out: arrays are NumPy's, and all runs on the CPU"
_NO_MODE = (
    "Leave it out: there is no training mode; Dropout drops where it is given rng, and BatchNorm "
    "is told training="
)
_GRADIENTS = "Leave it out: wg.grad and wg.TrainStep compute gradients anew in every call"
_FREEZE = 'Freeze in TrainStep: optimizer={"layers.0.*": None, "*": wg.optim.Adam()}'
_A_DATACLASS = "Write a dataclass with layers and arrays as fields, and define its __call__"
_KEYS = "Write wg.random.normal(key, shape), with key = wg.random.key(seed)"
_BATCHES = "Write step.run(x, y, batch_size=32), which makes batches of arrays"
_BINARY = "Write wg.bce_with_logits(logits, targets)"
_CLASSES = "Write wg.cross_entropy(logits, targets)"
_CLIP_NORM = (
    "Write wg.TrainStep(loss, model, optimizer, clip_norm=1.0), or "
    "wg.optim.clip_by_global_norm(grads, 1.0)"
)
_HUBER = "Write wg.huber(predictions, targets)"
_MAE = "Write wg.mae(predictions, targets)"
_MSE = "Write wg.mse(predictions, targets)"
# By module below wg.
REPAIRS: Mapping[str, Mapping[str, str]] = {
    "": {
        "angle": "There are no complex numbers; of a point (x, y) write wg.atan2(y, x)",
        "argwhere": (
            "How many there are depends on the values: write np.argwhere(x) outside of recorded "
            "functions, and wg.where(mask, x, 0) inside"
        ),
        "as_tensor": "Write np.asarray",
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
        "cat": "Write wg.concat([x, y], axis=0)",
        "clamp": "Write wg.clip(x, low, high)",
        **dict.fromkeys(("clip_grad_norm", "clip_grad_norm_"), _CLIP_NORM),
        **dict.fromkeys(
            ("complex64", "complex128"),
            "There are no complex numbers; compute with their real and imaginary parts",
        ),
        "concatenate": "Write wg.concat([x, y], axis=0)",
        "cuda": _CPU,
        "custom_gradient": "Write @wg.custom_vjp",
        "custom_jvp": "Write @wg.custom_vjp, or define an op with wg.op.elementwise",
        "DataLoader": _BATCHES,
        "device": _CPU,
        "each": "Write wg.train.each(x)",
        "enable_grad": _GRADIENTS,
        "eval_shape": "Write wg.trace(f, x): the printed program shows the shapes",
        "expit": "Write wg.sigmoid(x)",
        "flatten": "Write x.reshape(-1)",
        "fori_loop": "Write wg.scan(lambda carry, i: (f(i, carry), None), init, np.arange(n))",
        "from_numpy": "Leave it out: arrays are NumPy's",
        "gammaln": "Write wg.lgamma(x)",
        **dict.fromkeys(("huber_loss", "smooth_l1", "smooth_l1_loss"), _HUBER),
        "inference_mode": "Leave it out: nothing is differentiated outside of wg.grad",
        "jit": "Write wg.compile(f)",
        "l1_loss": _MAE,
        "lax": "Write wg.scan, wg.while_loop or wg.cond",
        "make_jaxpr": "Write wg.trace(f, x)",
        "manual_seed": "Pass seed= to layers and to wg.TrainStep, or begin with wg.nn.seed(0)",
        "mse_loss": _MSE,
        "nll_loss": _CLASSES,
        "no_grad": (
            "Leave it out: nothing is differentiated outside of wg.grad, and inside "
            "wg.stop_gradient(x) is not"
        ),
        "numpy": "Write import numpy as np: its functions take Tensors, too",
        "pmap": "There is none; compiled code uses all CPUs by itself",
        "psi": "Write wg.digamma(x)",
        "rand": _KEYS.replace("normal", "uniform"),
        "randn": _KEYS,
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
            "Write np.concatenate([x.ravel() for x in wg.tree.leaves(tree)]); the page of names, "
            "docs/names.md, has the way back",
        ),
        "structure": "Write wg.tree.flatten(tree)[1]",
    },
    "optim": {
        **dict.fromkeys(("clip_grad_norm", "clip_grad_norm_"), _CLIP_NORM),
        "apply_updates": "Write params, state = optimizer.update(params, grads, state)",
        "ChainedScheduler": "Write wg.optim.Lambda(lr, function) with their product, as lr",
        "ConstantLR": "Write wg.optim.Constant(lr), or wg.optim.Chain, and pass it as lr",
        "CosineAnnealingLR": "Write wg.optim.Cosine(lr, total_steps), and pass it as lr",
        "CosineAnnealingWarmRestarts": "Write wg.optim.CosineRestarts(lr, period), as lr",
        "CyclicLR": "Write wg.optim.Cyclic(base_lr, max_lr), and pass it as lr",
        "ExponentialLR": "Write wg.optim.Exponential(lr, gamma), and pass it as lr",
        "LambdaLR": "Write wg.optim.Lambda(lr, function), and pass it as lr",
        "LinearLR": (
            "Write wg.optim.LinearWarmup(lr, total_steps), and to go down "
            "wg.optim.Polynomial(lr, total_steps), and pass it as lr"
        ),
        "lr_scheduler": "Write wg.optim.Cosine(lr, total_steps), and pass it as lr of an optimizer",
        "MultiplicativeLR": "Write wg.optim.Lambda(lr, function) with their product, as lr",
        "MultiStepLR": "Write wg.optim.MultiStep(lr, milestones), and pass it as lr",
        "OneCycleLR": "Write wg.optim.OneCycle(max_lr, total_steps), and pass it as lr",
        "PolynomialLR": "Write wg.optim.Polynomial(lr, total_steps, power), and pass it as lr",
        "ReduceLROnPlateau": "Write wg.optim.ReduceOnPlateau(lr), and pass it as lr",
        "SequentialLR": "Write wg.optim.Chain(schedules, milestones), and pass it as lr",
        "StepLR": "Write wg.optim.StepDecay(lr, step_size), and pass it as lr",
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
        "seed": "Write key = wg.random.key(seed), and pass the key",
        "shuffle": "Write x[wg.random.permutation(key, x.shape[0])]",
    },
    "distributions": {
        "kl_divergence": "Write wg.distributions.kl(p, q)",
        **dict.fromkeys(("Gaussian", "Norm"), "Write wg.distributions.Normal(mean, std)"),
        **dict.fromkeys(
            ("MultivariateNormalTriL", "MultivariateNormalDiag"),
            "Write wg.distributions.MultivariateNormal(mean, factor)",
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
        **dict.fromkeys(
            ("fft", "ifft", "fft2", "rfft2", "fftn", "hfft"),
            "There are real transforms along one axis: write real, imag = wg.fft.rfft(x)",
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
OF_LAYERS: Mapping[str, str] = {
    "apply": "Write wg.tree.map(function, model)",
    "backward": _GRADIENTS,
    "cpu": _CPU,
    "cuda": _CPU,
    "eval": _NO_MODE,
    "forward": "Call it: model(x)",
    "frozen": _FREEZE,
    "load_state_dict": (
        "Write target = wg.tree.copy(step.model), or model = wg.load(path, like=model) of a file"
    ),
    "named_parameters": "Write zip(wg.tree.paths(model), wg.tree.leaves(model))",
    "parameters": "Write wg.tree.leaves(model); a TrainStep finds them by itself",
    "requires_grad": _FREEZE,
    "requires_grad_": _FREEZE,
    "state_dict": (
        "Write wg.tree.copy(model) for a snapshot, wg.save(path, model) for a file, or "
        "wg.tree.leaves(model)"
    ),
    "to": _CPU,
    "train": _NO_MODE,
    "trainable": _FREEZE,
    "training": _NO_MODE,
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
OF_ENSEMBLES: Mapping[str, str] = {
    **{
        name: f"Write ensemble.members[i].{name}"
        for name in ("model", "optimizer", "state", "gradients", "optimizer_states", "epoch")
    },
    "clip_norm": "Write ensemble.members[i].clip_norm",
    "clip_value": "Write ensemble.members[i].clip_value",
    "check": "Write ensemble.members[i].check(x, y)",
    "explain": "Write ensemble.members[i].explain(x, y)",
    "profile": "Write ensemble.members[i].profile(x, y)",
    "fit": "Write ensemble.run(x, y, batch_size=32, epochs=10)",
    "learning_rate": "Write ensemble.members[i].optimizer.learning_rate",
    "lr": "Write ensemble.members[i].optimizer.lr",
    "models": "Write [step.model for step in ensemble.members]",
    "predict": "Write predict = ensemble.bind(lambda model, x: model(x)), and call predict.mean(x)",
    "step": "Call it: ensemble(x, y) is a step of every member",
    "train": "Write ensemble.run(x, y, batch_size=32), or ensemble(x, y) for one batch",
}


OF_GENERATORS: Mapping[str, str] = {
    "binomial": "Write rng.bernoulli(p, shape)",
    "dropout": "Write wg.dropout(x, rate, rng)",
    "integers": "Write rng.randint(shape, low, high)",
    "key": "Write rng.next_key(), which is another one in every call",
    "rand": "Write rng.uniform(shape)",
    "randn": "Write rng.normal(shape)",
    "random": "Write rng.uniform(shape)",
    "seed": "Pass seed= to wg.TrainStep, or make it of another key",
    "shuffle": "Write x[rng.permutation(x.shape[0])]",
    "split": "Write rng.fold_in(number); each call draws other numbers anyway",
    "standard_normal": "Write rng.normal(shape)",
}
OF_DISTRIBUTIONS: Mapping[str, str] = {
    **dict.fromkeys(("cov", "covariance_matrix"), "Write p.covariance"),
    "icdf": "Write wg.ndtri(u) * p.std + p.mean of a Normal, wg.gammaincinv(p.a, u) of a Gamma",
    "kl": "Write wg.distributions.kl(p, q)",
    "kl_divergence": "Write wg.distributions.kl(p, q)",
    "loc": "Write p.mean",
    "log_cdf": "Write wg.log_ndtr((x - p.mean) / p.std) of a Normal, wg.log(p.cdf(x)) elsewhere",
    "mode": "Write p.mean of a Normal, and wg.argmax(p.logits, axis=-1) of a Categorical",
    **dict.fromkeys(("pdf", "prob"), "Write wg.exp(p.log_prob(x))"),
    **dict.fromkeys(("logpdf", "logpmf"), "Write p.log_prob(x)"),
    "rsample": "Write p.sample(key, shape): draws can be differentiated wherever they can move",
    "rsample_and_log_prob": "Write p.sample_and_log_prob(key)",
    "rvs": "Write p.sample(key, shape)",
    "scale": "Write p.std",
    "stddev": "Write p.std",
    "var": "Write p.variance",
    **dict.fromkeys(
        ("batch_shape", "event_shape", "expand", "to_event"),
        "Leave it out: parameters broadcast; add up log_prob over axes with wg.sum(…, axis)",
    ),
}
OF_OPTIMIZERS: Mapping[str, str] = {
    "add_param_group": 'Write wg.TrainStep(loss, model, {"head.*": one, "*": other})',
    "apply_gradients": "Write params, state = optimizer.update(params, grads, state)",
    "backward": _GRADIENTS,
    "minimize": "Write step = wg.TrainStep(loss, model, optimizer), and call step(x, y)",
    "param_groups": (
        "For another rate write step.optimizer.learning_rate = rate of a wg.TrainStep; for "
        'groups, wg.TrainStep(loss, model, {"head.*": one, "*": other})'
    ),
    "parameters": "Write step.model of a wg.TrainStep",
    "zero_grad": _GRADIENTS,
}

_RATES = "Write schedule(index), or step.last.learning_rate of a wg.TrainStep"
OF_SCHEDULES: Mapping[str, str] = {
    "get_last_lr": _RATES,
    "get_lr": _RATES,
    "last_epoch": "Schedules count updates: write step.last.index of a wg.TrainStep",
    "step": "Leave it out: wg.optim.Adam(schedule) asks for the rate of each update",
}
