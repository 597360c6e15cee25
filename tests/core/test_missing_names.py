"""Names that people type from other libraries, in modules, layers, steps and arguments."""

from __future__ import annotations

import copy
import functools
import pickle
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.core.words.foreign_names.nearest import misspelt
from wengert.core.words.foreign_names.repairs import REPAIRS, THEIR_METRICS
from wengert.core.words.foreign_names.repairs_of_objects import (
    OF_DISTRIBUTIONS,
    OF_ENSEMBLES,
    OF_GENERATORS,
    OF_HISTORIES,
    OF_LAYERS,
    OF_OPTIMIZERS,
    OF_SCHEDULES,
    OF_STEPS,
    OF_SWEEPS,
)
from wengert.errors import MissingAttribute, OptimError, TraceError
from wengert.train.metrics import metric_named

SPACES = {"": wg, "nn": wg.nn, "optim": wg.optim, "random": wg.random, "linalg": wg.linalg}
SPACES |= {"fft": wg.fft, "tree": wg.tree}
SPACES["distributions"] = wg.distributions
SPACES |= {"train": wg.train, "train.metrics": wg.train.metrics}
NAMES = [(space, name) for space, names in REPAIRS.items() for name in names]
x = np.ones((5, 3), np.float32)


def a_model() -> Any:
    return wg.nn.Sequential(wg.nn.Linear(3, 4), "relu", wg.nn.Linear(4, 1))


def loss(model: Any, x: Any) -> Any:
    return wg.mean(model(x) ** 2)


@pytest.mark.parametrize(("space", "name"), NAMES)
def test_a_name_from_elsewhere_is_told_its_name_here(space, name):
    assert not hasattr(SPACES[space], name)
    assert name not in dir(SPACES[space])
    with pytest.raises(MissingAttribute) as found:
        getattr(SPACES[space], name)
    assert str(found.value).endswith(f". {REPAIRS[space][name]}.")


def test_the_names_in_the_repairs_exist():
    tables = [
        *REPAIRS.values(),
        OF_DISTRIBUTIONS,
        OF_ENSEMBLES,
        OF_GENERATORS,
        OF_HISTORIES,
        OF_LAYERS,
        OF_OPTIMIZERS,
        OF_SCHEDULES,
        OF_STEPS,
        OF_SWEEPS,
    ]
    texts = [text for table in tables for text in table.values()]
    written = {each for text in texts for each in re.findall(r"\b(?:wg|np)(?:\.\w+)+", text)}
    assert len(written) > 40
    for each in written:
        eval(each)  # a name of ours or of NumPy's


@pytest.mark.parametrize(
    ("written", "meant"),
    {
        "wg.matmull": "wg.matmul",
        "wg.Linear": "wg.nn.Linear",
        "wg.Adam": "wg.optim.Adam",
        "wg.nn.relu": "wg.relu",
        "wg.nn.Linaer": "wg.nn.Linear",
        "wg.optim.RMSprop": "wg.optim.RMSProp",
        "wg.random.unifrom": "wg.random.uniform",
        "wg.linalg.slove": "wg.linalg.solve",
        "wg.nanmean": "np.nanmean: it takes Tensors, too",
        "wg.histogram": "np.histogram: it takes Tensors, too",
        "wg.fmod": "np.fmod: it takes Tensors, too",
        "wg.Categorical": "wg.distributions.Categorical",
        "wg.Normal": "wg.distributions.Normal",
        "wg.cross_entrpoy": "wg.cross_entropy",
        "wg.linalg.choleksy": "wg.linalg.cholesky",
        "wg.distributions.Categorcial": "wg.distributions.Categorical",
        "wg.fit": "wg.train.fit",
        "wg.metrics": "wg.train.metrics",
        "wg.train.metrics.Accuracy": "wg.train.metrics.accuracy",
        "wg.train.Fit": "wg.train.fit",
    }.items(),
)
def test_other_names_are_told_the_nearest(written, meant):
    with pytest.raises(AttributeError, match=rf"{re.escape(written)}: .*Write {meant}\.$"):
        eval(written)


# What another library has by this name, or nobody: the nearest name here is of something else.
UNLIKE = (
    *("wg.i0f", "wg.expo", "wg.logi", "wg.entrop", "wg.gammalnx", "wg.rematerialise"),
    *("wg.linalg.tensorinv", "wg.random.weibull", "wg.random.hypergeometric", "wg.nn.Bilinear"),
    *("wg.distributions.StudentT", "wg.optim.Adadelta", "wg.unpackbits"),
)


@pytest.mark.parametrize("written", UNLIKE)
def test_a_guess_is_made_of_misspellings_only(written):
    with pytest.raises(MissingAttribute, match=r"Write it with the functions of wg\.$"):
        eval(written)


@pytest.mark.parametrize(
    ("given", "meant"),
    {
        "matmull": "matmul",
        "slove": "solve",
        "cross_entrpoi": "cross_entropy",
        "gammaln": None,  # two letters of seven
        "eig": None,
        "i0": None,
        "entr": None,
    }.items(),
)
def test_misspellings(given, meant):
    known = ["matmul", "solve", "cross_entropy", "gammainc", "eigh", "i0e", "ndtr", "entropy"]
    assert misspelt(given, known) == meant


def test_an_import_is_told_the_same():
    with pytest.raises(ImportError, match=r"wg\.optim\.StepLR: .*wg\.optim\.StepDecay"):
        from wengert.optim import StepLR  # noqa: F401
    with pytest.raises(ImportError, match=r"Write wg\.lgamma\(x\)"):
        from wengert import gammaln  # noqa: F401


WORDED = {
    r"tanh: given a Sequential .*Call it, net\(x\)": (lambda: wg.tanh(a_model())),
    r"mean: given a dict .*wg\.tree\.map\(wg\.mean, tree\)": lambda: wg.mean({"a": np.ones(2)}),
    r"fold_in: given a Generator .*rng\.next_key\(\)": (
        lambda: wg.random.fold_in(wg.random.Generator(wg.random.key(0)), 3)
    ),
    r"Generator\.key: .*rng\.next_key\(\)": (lambda: wg.random.Generator(wg.random.key(0)).key),
    r"AdamW: no parameter 'exclude'; .*weight_decay=0\.0": lambda: wg.optim.AdamW(exclude=["b"]),
    r"Embedding: no parameter 'padding_idx'; .*Mask the vectors": (
        lambda: wg.nn.Embedding(3, 2, padding_idx=0)
    ),
    r"GRU: no parameter 'batch_first'; .*transpose": lambda: wg.nn.GRU(3, 2, batch_first=True),
    r"Sequential: layers\[1\] is the class Dropout; .*Write Dropout\(…\)": (
        lambda: wg.nn.Sequential(wg.nn.Linear(2, 2), wg.nn.Dropout)
    ),
    r"fill: .*wg\.full_like\(x, value\)": lambda: wg.grad(lambda x: x.fill(0))(x),
    r"np\.fill_diagonal: .*wg\.where\(np\.eye\(n, dtype=bool\), value, x\)": (
        lambda: wg.grad(lambda x: np.fill_diagonal(x, 0.0))(x)
    ),
    r"Generator\.normal: no parameter 'scale'; .*mean \+ deviation \* rng\.normal\(shape\)": (
        lambda: wg.random.Generator(wg.random.key(0)).normal((3,), scale=0.1)
    ),
    r"normal: no parameter 'loc'; .*deviation \* wg\.random\.normal\(key, shape\)": (
        lambda: wg.random.normal(wg.random.key(0), (3,), loc=0.1)
    ),
    r"wg\.nn\.Lambda: .*wg\.nn\.Sequential\(wg\.nn\.Linear\(3, 2\), function\)": (
        lambda: wg.nn.Lambda
    ),
    r"TransformerBlock: no parameter 'causal'; .*constructor: TransformerBlock\(…, causal=…\)": (
        lambda: wg.nn.TransformerBlock(8, 2)(np.ones((2, 3, 8)), causal=True)
    ),
    r"Linear: no parameter 'y'; it has x\. Use these names": lambda: wg.nn.Linear(3, 2)(x, y=x),
    r"wg\.polyak_update: .*wg\.optim\.EMA\(optimizer, decay=1 - tau\), or .*wg\.tree\.map": (
        lambda: wg.polyak_update
    ),
    r"wg\.discount: .*wg\.linear_recurrence\(gamma, rewards, reverse=True\)": (lambda: wg.discount),
    r"wg\.optim\.LinearSchedule: .*wg\.optim\.Polynomial": (lambda: wg.optim.LinearSchedule),
    r"wg\.distributions\.DiagGaussian: .*Normal\(mean, std\), and wg\.sum\(p\.log_prob\(x\)": (
        lambda: wg.distributions.DiagGaussian
    ),
    r"check_grads: ndarray was given as args; .*\[x\]": lambda: wg.check_grads(wg.sin, np.ones(3)),
    r"check_grads: float was given as args": lambda: wg.check_grads(wg.sin, 1.0),
}


@pytest.mark.parametrize("words", WORDED)
def test_what_is_written_elsewhere_is_refused_in_words(words):
    with pytest.raises((TypeError, AttributeError, TraceError), match=words):
        WORDED[words]()


def test_what_to_write_for_returns_are_these():
    rewards, gamma = np.array([1.0, 2.0, 3.0]), 0.5
    returns = wg.linear_recurrence(gamma, rewards, reverse=True)
    np.testing.assert_allclose(returns, [1 + 0.5 * (2 + 0.5 * 3), 2 + 0.5 * 3, 3])


MASK = np.array([True, False, True])
CHOSEN = {
    "mean": lambda x: wg.sum(wg.where(MASK, x, 0)) / wg.sum(MASK),
    "max": lambda x: np.max(wg.where(MASK, x, -np.inf)),
    "min": lambda x: np.min(wg.where(MASK, x, np.inf)),
    "sum": lambda x: np.sum(wg.where(MASK, x, 0)),
    "prod": lambda x: np.prod(wg.where(MASK, x, 1)),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_what_to_write_for_where_is_what_numpy_computes(name):
    x = np.array([-3.0, 7.0, -2.0])
    options = {"max": {"initial": -np.inf}, "min": {"initial": np.inf}}.get(name, {})
    expected = getattr(np, name)(x, where=MASK, **options)
    np.testing.assert_allclose(wg.vjp(CHOSEN[name], x)[0], expected)
    with pytest.raises(TraceError, match=f"np.{name}: .*its where argument .*wg.where\\(mask, x, "):
        wg.grad(lambda x: getattr(np, name)(x, where=MASK, **options))(x)


def test_python_and_its_tools_are_told_in_pythons_words():
    for thing in (wg, wg.nn, a_model()):
        with pytest.raises(AttributeError, match="has no attribute '_repr_html_'"):
            _ = thing._repr_html_


@pytest.mark.parametrize(
    ("written", "meant"),
    {
        "wg.optim.adam": "wg.optim.Adam",
        "wg.optim.sgd": "wg.optim.SGD",
        "wg.nn.linear": "wg.nn.Linear",
    }.items(),
)
def test_a_module_that_is_called_names_the_class(written, meant):
    with pytest.raises(TypeError, match=rf"{written}: .*Write {meant}\("):
        eval(written)(1e-3)


@pytest.mark.parametrize("name", OF_LAYERS)
def test_layers_explain_what_they_have_not(name):
    for layer in (a_model(), wg.nn.Linear(3, 4), wg.nn.GRU(3, 4)):
        assert not hasattr(layer, name)
        with pytest.raises(MissingAttribute, match=re.escape(f". {OF_LAYERS[name]}.")):
            getattr(layer, name)


def test_a_field_that_is_mistyped_is_told_the_right_one():
    with pytest.raises(MissingAttribute, match=r"Linear\.wieght: .*Write weight"):
        _ = wg.nn.Linear(3, 4).wieght


def test_layers_are_copied_and_pickled_as_before():
    model = a_model()
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other(x), model(x))


@pytest.mark.parametrize("name", OF_STEPS)
def test_steps_explain_what_they_have_not(name):
    step = wg.TrainStep(loss, a_model(), wg.optim.SGD(0.1))
    with pytest.raises(MissingAttribute, match=re.escape(f". {OF_STEPS[name]}.")):
        getattr(step, name)


@pytest.mark.parametrize("name", OF_HISTORIES)
def test_histories_explain_what_they_have_not(name):
    models = [wg.tree.copy(a_model()) for _ in range(2)]
    ensemble = wg.Ensemble(loss, models, wg.optim.SGD(0.1), compiled=False)
    step = wg.TrainStep(loss, a_model(), wg.optim.SGD(0.1), compiled=False)
    for history in (step.run(x, batch_size=5, epochs=0), ensemble.run(x, batch_size=5, epochs=0)):
        with pytest.raises(MissingAttribute, match=re.escape(f". {OF_HISTORIES[name]}.")):
            getattr(history, name)
        assert len(pickle.loads(pickle.dumps(history))) == 0


@pytest.mark.parametrize("name", OF_SWEEPS)
def test_results_of_sweeps_explain_what_they_have_not(name):
    results = wg.sweep(lambda lr: lr, {"lr": [0.1]}, progress=False)
    with pytest.raises(MissingAttribute, match=re.escape(f". {OF_SWEEPS[name]}.")):
        getattr(results, name)
    assert len(pickle.loads(pickle.dumps(results))) == 1


@pytest.mark.parametrize("name", THEIR_METRICS)
def test_metrics_by_their_names_elsewhere_are_told_ours(name):
    with pytest.raises(ValueError, match=rf"no metric {name!r}; .*Write {THEIR_METRICS[name]!r}"):
        metric_named("fit", name)


LOOPS = {
    "callbacks": "for epoch in {}.epochs",
    "verbose": "Leave it out",
    "validation_split": "{}.evaluate",
    "validation_data": "{}.evaluate",
    "class_weight": "weight of each row",
    "sample_weight": "weight of each row",
    "steps_per_epoch": "all rows",
    "shuffle": "shuffle_seed=",
}


@pytest.mark.parametrize("method", ["run", "epochs"])
@pytest.mark.parametrize("key", LOOPS)
def test_what_other_loops_take_is_explained(key, method):
    step = wg.TrainStep(loss, a_model(), wg.optim.SGD(0.1))
    ensemble = wg.Ensemble(loss, [a_model(), a_model()], wg.optim.SGD(0.1))
    for trained, name in ((step, "step"), (ensemble, "ensemble")):
        with pytest.raises(TypeError, match=LOOPS[key].format(name)):
            getattr(trained, method)(x, batch_size=5, **{key: 1})
        with pytest.raises(TypeError, match=rf"for x, y in loader: {name}\(x, y\)"):
            getattr(trained, method)(iter([x]))


MODELS = {
    "a model and a rate": lambda make: make(a_model(), lr=1e-3),
    "a model and a rate, by position": lambda make: make(a_model(), 1e-3),
    "a model": lambda make: make(a_model()),
    "leaves": lambda make: make(wg.tree.leaves(a_model()), 1e-3),
    "a generator of leaves": lambda make: make((leaf for leaf in wg.tree.leaves(a_model())), 1e-3),
    "a dict": lambda make: make({"w": x}, 1e-3),
}


@pytest.mark.parametrize("make", [wg.optim.Adam, wg.optim.SGD, wg.optim.RMSProp])
@pytest.mark.parametrize("name", MODELS)
def test_an_optimizer_says_that_it_takes_no_parameters(name, make):
    with pytest.raises(
        OptimError, match=rf"{make.__name__}: .*made without parameters.*wg\.optim\.{make.__name__}"
    ):
        MODELS[name](make)


def test_a_schedule_with_arrays_is_a_rate():
    @dataclass
    class Table:
        rates: Any

        def __call__(self, index: int) -> float:
            return float(self.rates[index])

    table = Table(np.array([0.5, 0.25]))
    assert wg.optim.Adam(table).lr is table
    assert wg.optim.Adam(np.float32(0.5)).lr == 0.5


@pytest.mark.parametrize("model", [a_model(), {"w": x}])
def test_a_step_whose_arguments_changed_places_says_so(model):
    with pytest.raises(TypeError, match=r"the loss comes first. Write wg\.TrainStep\(loss, model"):
        wg.TrainStep(model, loss, wg.optim.SGD(0.1))
    with pytest.raises(TypeError, match=r"the optimizer SGD as the model; .*the third"):
        wg.TrainStep(loss, wg.optim.SGD(0.1), model)


@pytest.mark.parametrize("key", ["weight", "ignore_index"])
def test_cross_entropy_shows_how_to_weigh(key):
    with pytest.raises(TypeError, match=rf"no parameter {key!r}.*reduction='none'"):
        wg.cross_entropy(x, np.zeros(5, int), **{key: 1})


@pytest.mark.parametrize("key", ["weight", "pos_weight"])
def test_bce_with_logits_shows_how_to_weigh(key):
    with pytest.raises(TypeError, match=rf"no parameter {key!r}.*reduction='none'.*losses.dtype"):
        wg.bce_with_logits(x, np.zeros_like(x), **{key: 3.0})


def test_schedules_know_the_names_of_their_lengths():
    with pytest.raises(TypeError, match="Write total_steps= instead"):
        wg.optim.Cosine(0.1, T_max=100)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Write min_lr= instead"):
        wg.optim.Cosine(0.1, 100, eta_min=0.1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("written", "meant"),
    {
        "detach": "wg.stop_gradient(x)",
        "gather": "wg.take_along_axis(x, index, axis)",
        "Parameter": "the array itself",
        "Variable": "the array itself",
        "unsqueeze": "wg.expand_dims(x, axis)",
        "view": "x.reshape(shape)",
        "flatten": "x.reshape(-1)",
        "mm": "x @ y",
        "Module": "a dataclass",
        "einops": "it with the functions of wg",
    }.items(),
)
def test_a_name_that_is_another_things_elsewhere_is_explained(written, meant):
    with pytest.raises(MissingAttribute, match=re.escape(f"Write {meant}")):
        getattr(wg, written)


RNG = wg.random.Generator(wg.random.key(0))


@pytest.mark.parametrize("name", OF_GENERATORS)
def test_what_other_generators_draw_is_explained(name):
    with pytest.raises(MissingAttribute) as found:
        getattr(RNG, name)
    assert str(found.value).endswith(f". {OF_GENERATORS[name]}.")


@pytest.mark.parametrize("optimizer", [wg.optim.Adam(), wg.optim.SGD(0.1), wg.optim.Lion(0.1)])
@pytest.mark.parametrize("name", OF_OPTIMIZERS)
def test_what_other_optimizers_have_is_explained(name, optimizer):
    with pytest.raises(MissingAttribute) as found:
        getattr(optimizer, name)
    assert str(found.value).endswith(f". {OF_OPTIMIZERS[name]}.")
    assert copy.deepcopy(optimizer).lr == pickle.loads(pickle.dumps(optimizer)).lr == optimizer.lr


CALLS_OF_OTHERS = {
    "no parameter 'size'.*Write shape= instead": lambda: RNG.normal(size=2),
    "no parameter 'loc'": lambda: RNG.normal(loc=0.0),
    "1 was given as dtype.*deviation": lambda: RNG.normal(0, 1),
    "takes 2 at most": lambda: RNG.normal(0.0, 1.0, (3,)),
    "1.0 was given as dtype.*low=low": lambda: RNG.uniform(0.0, 1.0),
    "high was not given": lambda: RNG.randint(0, 5),
    "count was not given": lambda: RNG.permutation(),
    "shape comes second": lambda: RNG.bernoulli((3,)),
}


@pytest.mark.parametrize("told", CALLS_OF_OTHERS)
def test_a_call_as_of_other_generators_is_refused_in_words(told):
    with pytest.raises((TypeError, ValueError), match=told):
        CALLS_OF_OTHERS[told]()


def test_a_copy_of_a_generator_is_one():
    rng = wg.random.Generator(wg.random.key(1))
    rng.normal()
    for other in (copy.deepcopy(rng), copy.copy(rng)):
        assert other.sites == 1
        assert not hasattr(other, "shuffle")


def test_the_recipe_for_a_categorical_draws_by_the_logits():
    z = np.log(np.array([0.5, 0.3, 0.2], np.float32)) * np.ones((20000, 1), np.float32)
    drawn = wg.argmax(z - wg.log(-wg.log(RNG.uniform(z.shape, z.dtype))), axis=-1)
    np.testing.assert_allclose(np.bincount(drawn) / len(drawn), [0.5, 0.3, 0.2], atol=0.015)


def test_arguments_of_a_batch_by_a_name_that_is_none():
    def loss(model, x, scale=1.0):
        return wg.sum(model * x) * scale

    def call(loss, **named):
        return wg.TrainStep(loss, np.ones(3), wg.optim.SGD(0.1))(np.ones(3), **named)

    with pytest.raises(TypeError, match=r"scale was given; a functools\.partial has set it"):
        call(functools.partial(loss, scale=2.0), scale=3.0)
    with pytest.raises(TypeError, match=r"with \*\*others.*Give it a parameter scale"):
        call(lambda model, x, **others: wg.sum(model * x), scale=3.0)
    with pytest.raises(TypeError, match=r"Remove the \* from the signature of the loss"):
        call(lambda model, x, *, scale: wg.sum(model * x) * scale, scale=3.0)


OF_LEAKED = [float, int, np.asarray, np.fft.fft, lambda t: t.item(), lambda t: t > 3]


@pytest.mark.parametrize("use", OF_LEAKED)
@pytest.mark.parametrize("way", [wg.grad, lambda f: wg.compile(wg.grad(f))])
def test_a_tensor_that_outlived_its_transformation_says_so_whatever_is_done_to_it(use, way):
    kept = []

    def f(x):
        kept.append(x[0] * 2)
        return wg.sum(x)

    way(f)(np.ones(3))
    with pytest.raises(TraceError, match="outlived its transformation"):
        use(kept[0])


@pytest.mark.parametrize(
    ("name", "repair"),
    [
        ("requires_grad", "optimizer="),
        ("trainable", "optimizer="),
        ("frozen", "optimizer="),
        ("training", "no training mode"),
    ],
)
def test_a_layer_refuses_to_be_given_what_would_have_no_effect(name, repair):
    layer = wg.nn.Linear(3, 4)
    with pytest.raises(MissingAttribute, match=rf"Linear\.{name}: .*{repair}"):
        setattr(layer, name, False)
    layer.bias = None
    layer.note = "of mine"
    assert (layer.bias, layer.note) == (None, "of mine")


def test_fields_may_have_such_names():
    @dataclass
    class Layer(wg.nn.Linear):
        training: bool

    layer = Layer(np.ones((2, 2)), None, True)
    layer.training = False
    assert not layer.training
    wg.nn.Bidirectional(wg.nn.RNN(2, 2), wg.nn.RNN(2, 2)).forward = wg.nn.RNN(2, 2)


OF_TENSORS = {
    "value": "wg.stop_gradient(x) is what detaches",
    "values": "Leave .values out: max, min and sort give the values alone",
    "indices": "Write wg.argmax(x, axis)",
    "amax": "Write wg.max(x, axis)",
    "copy_": "Write x = y",
    "fill_": "Write x = wg.full_like(x, value)",
    "clamp_": "Write x = wg.clip(x, low, high)",
    "relu_": "Write x = wg.relu(x)",
    "shuffle_": "A Tensor is never changed",
    "handl": "Write it with the functions of wg",
    "levels": "Write it with the functions of wg",
}


@pytest.mark.parametrize("name", OF_TENSORS)
def test_what_a_tensor_has_not_is_explained_and_nothing_of_ours_is_named(name):
    def read(x):
        return getattr(x * x, name)

    for call in (wg.grad(read), wg.vmap(read), lambda x: wg.trace(read, x)):
        with pytest.raises(MissingAttribute, match=re.escape(OF_TENSORS[name])):
            call(x)


def test_a_size_that_is_called_is_explained():
    with pytest.raises(TypeError, match="not callable") as caught:
        wg.compile(lambda x: x * x.size(0))(np.ones((2, 3)))
    assert "Write x.shape[axis] for torch's x.size(axis)" in caught.value.__notes__[0]
    with pytest.raises(TypeError, match="not callable") as caught:
        wg.compile(lambda x: x * len(x)(0))(np.ones((2, 3)))
    assert not hasattr(caught.value, "__notes__")


def test_a_draw_without_a_key_is_told_of_rng():
    with pytest.raises(TypeError, match=r"sample: key was not given.*name a parameter rng"):
        wg.distributions.Categorical(np.zeros(3)).sample()  # type: ignore[call-arg]
