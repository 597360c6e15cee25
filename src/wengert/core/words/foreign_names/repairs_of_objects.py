"""What objects of other libraries have and ours have not, and what to write instead: layers,
optimizers, training steps and others, by kind of object.
"""

from __future__ import annotations

from collections.abc import Mapping

CPU = "Leave it out: arrays are NumPy's, and all runs on the CPU"
_NO_MODE = (
    "Leave it out: there is no training mode; Dropout drops where it is given rng, and BatchNorm "
    "is told training="
)
GRADIENTS = "Leave it out: wg.grad and wg.TrainStep compute gradients anew in every call"
_FIT = (
    "Write step = wg.TrainStep(loss, model, optimizer), and step.run(x, y, batch_size=32, "
    "epochs=10)"
)
_DTYPES = "Write wg.tree.map(lambda x: x.astype(np.float64), model); there is no float16"
_FREEZE = 'Freeze in TrainStep: optimizer={"layers.0.*": None, "*": wg.optim.Adam()}'
OF_LAYERS: Mapping[str, str] = {
    **dict.fromkeys(
        ("add", "append"), "Write all layers into wg.nn.Sequential(first, second), or keep a list"
    ),
    "apply": "Write wg.tree.map(function, model)",
    "backward": GRADIENTS,
    **dict.fromkeys(("children", "modules", "named_modules"), "Write print(model), or its fields"),
    "compile": "Write wg.TrainStep(loss, model, optimizer), which compiles with the first call",
    "count_params": "Write sum(x.size for x in wg.tree.leaves(model)), or print(model)",
    "cpu": CPU,
    "cuda": CPU,
    "device": CPU,
    "eval": _NO_MODE,
    "evaluate": "Write step.evaluate(loss, x, y, batch_size=32) of a wg.TrainStep",
    "fit": _FIT,
    "forward": "Call it: model(x)",
    "frozen": _FREEZE,
    "load_state_dict": (
        "Write target = wg.tree.copy(step.model), or of a file model = wg.load(path, like=model), "
        "before a step is made with it"
    ),
    **dict.fromkeys(("double", "float", "half"), _DTYPES),
    "init": "Leave it out: a layer has its weights when it is made, as in wg.nn.Linear(3, 4)",
    "load_weights": "Write model = wg.load(path, like=model), before a step is made with it",
    "named_parameters": "Write zip(wg.tree.paths(model), wg.tree.leaves(model))",
    "parameters": "Write wg.tree.leaves(model); a TrainStep finds them by itself",
    "predict": "Call it: model(x), or step.bind(lambda model, x: model(x))(x) of a wg.TrainStep",
    "register_buffer": "Write an array of integers or bools, or freeze a field by its path",
    "requires_grad": _FREEZE,
    "requires_grad_": _FREEZE,
    **dict.fromkeys(("save", "save_weights"), "Write wg.save(path, model)"),
    "set_weights": "Write step.model = other of a wg.TrainStep, or use the other model",
    "state_dict": (
        "Write wg.tree.copy(model) for a snapshot, wg.save(path, model) for a file, or "
        "wg.tree.leaves(model)"
    ),
    "summary": "Write print(model), which shows shapes and numbers of parameters",
    "to": CPU,
    "train": _NO_MODE,
    "trainable": _FREEZE,
    "training": _NO_MODE,
    **dict.fromkeys(
        ("get_weights", "trainable_variables", "trainable_weights", "variables"),
        "Write wg.tree.leaves(model); a TrainStep finds them by itself",
    ),
    "zero_grad": GRADIENTS,
}
_ONE_BATCH = "Call it: step(x, y) computes gradients and updates the model"
_FIT_STEP = (
    "Write step.run(x, y, batch_size=32, epochs=10), or wg.train.fit(step, (x, y), epochs=10, "
    "batch_size=32) with validation and metrics"
)
OF_STEPS: Mapping[str, str] = {
    **dict.fromkeys(
        ("apply_gradients", "backward", "step", "train_on_batch", "train_step", "update"),
        _ONE_BATCH,
    ),
    **dict.fromkeys(
        ("average", "averaged", "ema", "ema_model"),
        'With wg.optim.EMA(optimizer) write step.optimizer_states["average"], the averaged model; '
        "a loss and a function of step.bind have it as a parameter averaged",
    ),
    "callbacks": "Write for epoch in step.epochs(x, y, batch_size=32): and call them there",
    "compile": (
        "Leave it out: wg.TrainStep(loss, model, optimizer) compiles all of it with the first call"
    ),
    **dict.fromkeys(("cpu", "cuda", "to"), CPU),
    "eval": _NO_MODE,
    "fit": _FIT_STEP,
    "forward": "Write step.bind(lambda model, x: model(x))",
    "get_weights": "Write wg.tree.copy(step.model)",
    "grad": "Write step.gradients",
    "history": "Write history = step.run(x, y, batch_size=32), of which history.loss has all steps",
    "init": "Leave it out: wg.TrainStep(loss, model, optimizer) makes the optimizer's state",
    "learning_rate": "Write step.optimizer.learning_rate",
    "load_weights": "Write step.model = wg.load(path, like=step.model), or step.load(path)",
    "loss": "Write step.last.loss, or loss = step(x, y)",
    "lr": "Write step.optimizer.lr",
    **dict.fromkeys(
        ("lr_scheduler", "scheduler"),
        "Pass a schedule as lr: wg.optim.Adam(wg.optim.Cosine(lr, total_steps))",
    ),
    "metrics": 'Write wg.train.fit(step, (x, y), 10, 32, validation=0.2, metrics="accuracy")',
    "named_parameters": "Write zip(wg.tree.paths(step.model), wg.tree.leaves(step.model))",
    **dict.fromkeys(("parameters", "params", "weights"), "Write step.model"),
    "predict": "Write predict = step.bind(lambda model, x: model(x)), and call predict(x)",
    "save_weights": "Write wg.save(path, step.model), or step.save(path) for all of it",
    **dict.fromkeys(
        ("score", "test_on_batch", "test_step"),
        "Write step.evaluate(loss, x, y, batch_size=32)",
    ),
    "set_weights": "Write step.model = model",
    "stop_training": "Write break in for epoch in step.epochs(x, y, batch_size=32, epochs=10)",
    "summary": "Write print(step), or print(step.model) for its layers",
    "train": "Write step.run(x, y, batch_size=32), or step(x, y) for one batch",
    "zero_grad": GRADIENTS,
}
OF_ENSEMBLES: Mapping[str, str] = {
    **{
        name: f"Write ensemble.members[i].{name}"
        for name in ("model", "optimizer", "state", "gradients", "optimizer_states", "epoch")
    },
    **dict.fromkeys(
        ("average", "averaged", "ema", "ema_model"),
        'Write ensemble.members[i].optimizer_states["average"] of a wg.optim.EMA',
    ),
    "clip_norm": "Write ensemble.members[i].clip_norm",
    "clip_value": "Write ensemble.members[i].clip_value",
    "check": "Write ensemble.members[i].check(x, y)",
    "explain": "Write ensemble.members[i].explain(x, y)",
    "profile": "Write ensemble.members[i].profile(x, y)",
    "compile": "Leave it out: wg.Ensemble(loss, models, optimizer) compiles with the first call",
    "fit": "Write ensemble.run(x, y, batch_size=32, epochs=10)",
    "history": "Write history = ensemble.run(x, y, batch_size=32), and history.loss",
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
    "rand_like": "Write rng.uniform(x.shape, x.dtype)",
    "randn_like": "Write rng.normal(x.shape, x.dtype)",
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
    "backward": GRADIENTS,
    "minimize": "Write step = wg.TrainStep(loss, model, optimizer), and call step(x, y)",
    "param_groups": (
        "For another rate write step.optimizer.learning_rate = rate of a wg.TrainStep; for "
        'groups, wg.TrainStep(loss, model, {"head.*": one, "*": other})'
    ),
    "parameters": "Write step.model of a wg.TrainStep",
    "zero_grad": GRADIENTS,
}

OF_SEARCHES: Mapping[str, str] = {
    **dict.fromkeys(("params", "x"), "Write result.tree"),
    **dict.fromkeys(("fun", "loss"), "Write result.value"),
    "jac": "Write result.grad_norm, or wg.grad(function)(result.tree) for all of it",
    "nfev": "Write result.evaluations",
    "nit": "Write result.iterations",
    "success": "Write result.converged",
}
_RATES = "Write schedule(index), or step.last.learning_rate of a wg.TrainStep"
OF_SCHEDULES: Mapping[str, str] = {
    "get_last_lr": _RATES,
    "get_lr": _RATES,
    "last_epoch": "Schedules count updates: write step.last.index of a wg.TrainStep",
    "step": "Leave it out: wg.optim.Adam(schedule) asks for the rate of each update",
}
_CURVES = "Write history.loss for every step, and history.epochs['loss'] for the epochs of a fit"
OF_HISTORIES: Mapping[str, str] = {
    **dict.fromkeys(("history", "losses", "train_loss"), _CURVES),
    "epoch": "Write history.epochs['epoch'] of a fit",
    **dict.fromkeys(
        ("metrics", "val_loss"),
        "Write history.epochs of wg.train.fit(…, validation=0.2): a dict of arrays by name",
    ),
    "model": "Write step.model of the wg.TrainStep",
    "params": "Write step.model of the wg.TrainStep",
}
_BEST_RUN = 'Write results.best("loss"), a run: its .settings, and its .metrics["loss"]'
OF_SWEEPS: Mapping[str, str] = {
    **dict.fromkeys(("best_params", "best_params_", "best_score_", "best_trial"), _BEST_RUN),
    **dict.fromkeys(
        ("best_estimator_", "best_model"),
        'Return the step from train, {"loss": loss, "step": step}, and load what '
        'results.best("loss")["step"] is: step.load_state_dict(…)',
    ),
    **dict.fromkeys(
        ("cv_results_", "trials", "df"), "Write results.to_pandas(), or results.records()"
    ),
}
