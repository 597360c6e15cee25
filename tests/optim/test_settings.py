"""What an optimizer is made of: checked, shown, and changed within limits."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from optim.all_optimizers import EVERY, trained
from wengert.errors import OptimError

o = wg.optim
EACH = pytest.mark.parametrize("name", EVERY)
BAD_RATES = [-0.1, np.nan, np.inf, "0.1", None, True, 1j, 10**400, np.ones((2, 2))]
CLASSES = [o.SGD, o.Lars, o.Lamb, o.Adam, o.AdamW, o.RMSProp, o.Adagrad, o.RAdam, o.Lion]


@pytest.mark.parametrize("rate", BAD_RATES, ids=str)
@pytest.mark.parametrize("kind", CLASSES)
def test_a_bad_learning_rate_is_refused(kind, rate):
    with pytest.raises(OptimError, match="must be a finite number, 0 or more"):
        kind(rate)
    optimizer = kind(0.5)
    with pytest.raises(OptimError, match=f"{kind.__name__}: "):
        optimizer.learning_rate = rate
    assert optimizer.learning_rate == 0.5


@pytest.mark.parametrize("kind", CLASSES)
def test_several_rates_are_several_optimizers(kind):
    """They are for the members of an ensemble, and none of them is an optimizer by itself."""
    for rates in ([0.1, 0.2], np.array([0.1, 0.2]), [o.Cosine(0.1, 5), o.Cosine(0.2, 5)]):
        found = kind(rates)
        assert not isinstance(found, o.Optimizer)
        assert [each.learning_rate for each in found] == [0.1, 0.2]
        assert all(type(each) is kind for each in found)
    optimizer = kind(0.5)
    for rates in ([0.1], np.ones(2)):
        with pytest.raises(OptimError, match=f"{kind.__name__}: "):
            optimizer.learning_rate = rates


BAD_SETTINGS = {
    "momentum": ([o.SGD, o.Lars, o.RMSProp], [-0.1, 1.0, 1.5, np.nan, np.inf, "0.9", None]),
    "weight_decay": (CLASSES, [-0.1, np.nan, np.inf, None]),
    "trust_coefficient": ([o.Lars], [0.0, -1.0, np.nan, np.inf]),
    "eps": ([o.Adam, o.AdamW, o.Lamb, o.Lars, o.RMSProp, o.Adagrad, o.RAdam], [-1e-8, np.nan]),
    "betas": (
        [o.Adam, o.AdamW, o.RAdam, o.Lamb, o.Lion],
        [(0.9, 1.0), (-0.1, 0.9), (0.9,), 0.9, (np.nan, 0.9), "ab", (0.9, 0.9, 0.9)],
    ),
    "dampening": ([o.SGD], [-0.1, 1.1, np.nan]),
    "alpha": ([o.RMSProp], [-0.1, 1.0, np.nan]),
    "lr_decay": ([o.Adagrad], [-0.1, np.nan]),
    "initial_accumulator_value": ([o.Adagrad], [-0.1, np.inf]),
    "nesterov": ([o.SGD, o.Lars], [1, "yes", None, True]),  # True needs momentum
    "amsgrad": ([o.Adam, o.AdamW], [1, None]),
    "centered": ([o.RMSProp], [1, None]),
    "decoupled_weight_decay": ([o.RAdam], [1]),
    "clip": ([o.Lars], [1]),
    "variant": ([o.Lars], ["jax", None]),
    "exclude": ([o.Lars, o.Lamb], [3, [1, 2]]),
}


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        pytest.param(kind, name, value, id=f"{kind.__name__}-{name}-{value}")
        for name, (kinds, values) in BAD_SETTINGS.items()
        for kind in kinds
        for value in values
    ],
)
def test_a_bad_setting_is_refused(kind, name, value):
    with pytest.raises(OptimError, match=f"{kind.__name__}: {name}"):
        kind(0.1, **{name: value})
    optimizer = kind(0.1)
    before = repr(optimizer)
    with pytest.raises(OptimError, match=f"{kind.__name__}: {name}"):
        setattr(optimizer, name, value)
    assert repr(optimizer) == before


@pytest.mark.parametrize(
    "make",
    [
        lambda: o.Lookahead(o.SGD(0.1), k=0),
        lambda: o.Lookahead(o.SGD(0.1), k=2.5),
        lambda: o.Lookahead(o.SGD(0.1), alpha=0.0),
        lambda: o.Lookahead(o.SGD(0.1), alpha=1.5),
        lambda: o.Lookahead(0.1),
        lambda: o.EMA(o.SGD(0.1), decay=1.1),
        lambda: o.EMA(o.SGD(0.1), decay=-0.1),
        lambda: o.EMA(o.SGD(0.1), warmup=1),
        lambda: o.EMA("SGD"),
        lambda: o.SGD(0.1, momentum=0.9, dampening=0.1, nesterov=True),
    ],
)
def test_bad_settings_of_wrappers_and_bad_pairs(make):
    with pytest.raises(OptimError):
        make()


def test_numbers_can_change_and_what_the_rule_is_made_of_cannot():
    optimizer = o.SGD(0.1, momentum=0.9, nesterov=True)
    trained(optimizer)
    optimizer.momentum = 0.5
    assert optimizer.scalars(3)["momentum"] == 0.5
    for name, value in [("momentum", 0.0), ("nesterov", False), ("dampening", 0.5)]:
        with pytest.raises(OptimError):
            setattr(optimizer, name, value)
    assert repr(optimizer) == "SGD(lr=0.1, momentum=0.5, nesterov=True)"
    with pytest.raises(OptimError, match="this optimizer keeps none"):
        o.SGD(0.1).momentum = 0.9


def test_lars_is_built_step_by_step():
    base = o.Lars(0.1)
    made = base.with_momentum(0.9).with_weight_decay(1e-4).with_trust_coefficient(0.01)
    assert (made.momentum, made.weight_decay, made.trust_coefficient) == (0.9, 1e-4, 0.01)
    assert (base.momentum, base.weight_decay, base.trust_coefficient) == (0.0, 0.0, 0.001)
    assert repr(made) == (
        "Lars(base_lr=0.1, momentum=0.9, weight_decay=0.0001, trust_coefficient=0.01)"
    )
    kept = o.Lars(0.1, eps=1e-3, exclude="*.b", clip=True).with_momentum(0.5)
    assert (kept.eps, kept.exclude, kept.clip) == (1e-3, "*.b", True)
    for call in (
        lambda: base.with_momentum(1.0),
        lambda: base.with_weight_decay(-1.0),
        lambda: base.with_trust_coefficient(0.0),
    ):
        with pytest.raises(OptimError):
            call()


@EACH
def test_protocols(name):
    optimizer = EVERY[name]()
    assert isinstance(optimizer, o.LearningRate)
    assert isinstance(optimizer, o.StepOptimizer)
    assert not isinstance(object(), o.LearningRate | o.StepOptimizer)


@EACH
def test_learning_rate_acts_on_the_next_step(name):
    frozen = EVERY[name]()
    frozen.learning_rate = 0
    assert frozen.learning_rate == 0.0
    np.testing.assert_array_equal(trained(frozen, 2, np.ones(3)), 1.0)


@EACH
def test_repr_makes_an_equal_optimizer(name):
    optimizer = EVERY[name]()
    again = eval(repr(optimizer), vars(o))
    assert repr(again) == repr(optimizer)
    np.testing.assert_array_equal(trained(again), trained(optimizer))


def test_a_setting_without_an_attribute_is_named():
    class Forgetful(o.Optimizer):
        def __init__(self, lr, power):
            super().__init__(lr)

    with pytest.raises(OptimError, match="power"):
        Forgetful(0.1, 2.0)


def test_an_optimizer_of_ones_own_works_in_every_way():
    class Power(o.Optimizer):
        """Steps along a power of the gradient; settings need no more than an attribute."""

        def __init__(self, lr, power=1.0):
            self.power = power
            super().__init__(lr)

        def rule(self, weights, grad, state, s, path=None):
            return weights - s["lr"] * wg.sign(grad) * wg.abs(grad) ** s["power"], state

    optimizer = Power(0.5, power=2.0)
    assert repr(optimizer) == "Power(lr=0.5, power=2.0)"
    weights, grad = np.ones(2), np.array([1.0, -2.0])
    optimizer.step("w", weights, grad)
    np.testing.assert_array_equal(weights, [0.5, 3.0])
    compiled, _ = wg.compile(optimizer.update)(np.ones(2), grad, optimizer.init(np.ones(2)))
    np.testing.assert_allclose(compiled, [0.5, 3.0])
    again = Power(0.1)
    again.load_state_dict(optimizer.state_dict())
    assert repr(again) == repr(optimizer) == repr(optimizer.copy())


def test_an_optimizer_without_a_rule_says_so():
    with pytest.raises(OptimError, match="has no rule"):
        o.Optimizer(0.1).step("w", np.ones(2), np.ones(2))


@pytest.mark.parametrize("name", ["learnin_rate", "momentun", "colour", "params", "rate"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: wg.optim.SGD(0.1),
        lambda: wg.optim.Adam(0.1).copy(),
        lambda: wg.optim.EMA(wg.optim.Adam(0.1)),
        lambda: wg.optim.LBFGS(),
        lambda: Own(0.1, 2.0),
    ],
)
def test_what_is_no_setting_cannot_be_set(make, name):
    optimizer = make()
    with pytest.raises(AttributeError, match=f"{name} was set; what can be set is .*learning_rate"):
        setattr(optimizer, name, 3)
    assert name not in vars(optimizer)


class Own(wg.optim.Optimizer):
    """What a constructor sets is there, before and after that of the base."""

    def __init__(self, lr, power):
        self.power = power
        super().__init__(lr)
        self.made_by = "me"


def test_an_optimizer_of_ones_own_has_what_its_constructor_sets():
    optimizer = Own(0.1, 2.0)
    optimizer.power, optimizer.made_by = 3.0, "you"
    assert (optimizer.power, optimizer.made_by) == (3.0, "you")
    with pytest.raises(AttributeError, match="Set power instead"):
        optimizer.powr = 3.0
