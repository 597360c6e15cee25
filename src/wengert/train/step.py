"""TrainStep: loss, gradient, clipping and update as one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from wengert.core import tree
from wengert.train.batch import LossSignature
from wengert.train.bound import Bound, BoundFunctions, weighted_mean
from wengert.train.checking import Check, check_step
from wengert.train.checkpoint import Checkpoint
from wengert.train.data import Data
from wengert.train.describe import described
from wengert.train.engine import Engine
from wengert.train.files import File, load, save
from wengert.train.fingerprint import fingerprint
from wengert.train.groups import make_groups
from wengert.train.history import Epoch, History, Last, Rates, joined
from wengert.train.options import (
    require_accumulate,
    require_epoch,
    require_epochs,
    require_function,
    require_limit,
    require_policy,
    require_threads,
)
from wengert.train.program import AUX, LOSS, Plan
from wengert.train.run import Run, require_shuffle_seed
from wengert.train.storage import Array, Segment, Storage, assign_state, carried_arrays
from wengert.train.uncopied import Uncopied


class TrainStep(Uncopied):
    """One call `step(*batch)` computes the loss and its gradient and updates the model.

    `loss(model, *batch)` returns a scalar, with `has_aux` (scalar, aux). With `state=`, arrays that
    are carried from call to call and not differentiated, `loss(model, state, *batch)` returns
    (scalar, state[, aux]). A parameter of the loss that is named `rng` receives a generator keyed
    by seed, step and site. The model is copied; `step.model` has its type and shows the live
    parameters. `optimizer` is one of `wg.optim`, or a dict from globs on paths to optimizers or
    None, of which the first that matches counts; None freezes.

    >>> step = wg.TrainStep(
    ...     lambda w, x, y: wg.mean((x @ w - y) ** 2), np.zeros(2), wg.optim.SGD(0.1)
    ... )
    >>> x, y = np.eye(2), np.ones(2)
    >>> [round(step(x, y), 4) for _ in range(3)]
    [1.0, 0.81, 0.6561]
    """

    _otherwise = "Make a new one and load_state_dict(step.state_dict()) into it."

    def __init__(
        self,
        loss: Callable[..., Any],
        model: Any,
        optimizer: Any,
        *,
        state: Any = None,
        has_aux: bool = False,
        strict: bool = False,
        clip_norm: float | None = None,
        clip_value: float | None = None,
        accumulate: int = 1,
        seed: int = 0,
        nonfinite: str = "raise",
        threads: int | None = None,
        cast: bool = True,
        compiled: bool = True,
    ) -> None:
        require_function("TrainStep", loss, "the loss")
        accumulate, threads = require_accumulate(accumulate), require_threads(threads)
        require_policy(nonfinite)
        limits = _limits(clip_norm=clip_norm, clip_value=clip_value)
        self._several = isinstance(optimizer, Mapping)
        groups = make_groups(optimizer)
        storage = Storage(model, groups)
        signature = LossSignature(loss, state is not None)
        arrays, structure = ([], None) if state is None else carried_arrays(state)
        plan = Plan(
            loss=loss,
            groups=groups,
            storage=storage,
            carried=structure,
            wants_rng=signature.wants_rng,
            rng_place=signature.rng_place,
            has_aux=bool(has_aux),
            strict=bool(strict),
            accumulate=accumulate,
            cast=storage.dtype if cast else None,
            proves=nonfinite != "ignore" and accumulate == 1,
        )
        self._bounds = BoundFunctions()
        self._engine = Engine(
            plan, arrays, signature.names, limits, seed, threads, nonfinite, compiled
        )

    def __call__(self, *batch: Any) -> Any:
        """The loss of a batch, or (loss, aux); the model is updated."""
        found = self._engine.call(batch)
        loss = self._engine.report.item(LOSS)
        return (loss, found[AUX]) if self._engine.plan.has_aux else loss

    # Live arrays.

    @property
    def model(self) -> Any:
        """A tree of the model's type whose arrays are the live parameters; assigning copies."""
        storage = self._engine.plan.storage
        return storage.tree(storage.leaves)

    @model.setter
    def model(self, model: Any) -> None:
        self._engine.plan.storage.assign(model)

    @property
    def gradients(self) -> Any:
        """Live gradients in the form of the model: of the last call, averaged over accumulation,
        before clipping. None where nothing is trained.
        """
        return self._engine.plan.storage.views(lambda segment: segment.gradients)

    @property
    def state(self) -> Any:
        """The live state that is carried from call to call; assigning copies. None without one."""
        carried = self._engine.plan.carried
        return None if carried is None else tree.unflatten(carried, self._engine.carried)

    @state.setter
    def state(self, state: Any) -> None:
        assign_state(self._engine.carried, self._engine.plan.carried, state)

    @property
    def optimizer_states(self) -> dict[str, Any]:
        """What the optimizers keep, by name: live trees in the form of the model, with None where
        an optimizer keeps no such thing.
        """
        self._engine.unseen[:] = False  # they can be written to from now on
        storage = self._engine.plan.storage
        names = dict.fromkeys(name for segment in storage.trained for name in segment.states)
        return {name: storage.views(partial(_state_of, name)) for name in names}

    # Numbers.

    @property
    def optimizer(self) -> Any:
        """The step's own copy of the optimizer, or of the dict of them. Its learning rate is that
        of the next update; setting it acts on the next call.
        """
        groups = self._engine.plan.groups
        return {g.glob: g.optimizer for g in groups} if self._several else groups[0].optimizer

    @property
    def clip_norm(self) -> float | None:
        """The largest norm of all gradients as one vector; longer ones are shortened."""
        return self._engine.limits.get("clip_norm")

    @clip_norm.setter
    def clip_norm(self, value: float | None) -> None:
        self._engine.set_limits(_limits(clip_norm=value, clip_value=self.clip_value))

    @property
    def clip_value(self) -> float | None:
        """The largest absolute value of a gradient's element."""
        return self._engine.limits.get("clip_value")

    @clip_value.setter
    def clip_value(self, value: float | None) -> None:
        self._engine.set_limits(_limits(clip_norm=self.clip_norm, clip_value=value))

    @property
    def last(self) -> Last | None:
        """Loss, norm of the gradients, learning rate and index of the last call."""
        engine = self._engine
        if engine.row is None:
            return None
        loss, norm = engine.report.tolist()
        rate = Rates(engine, self._several).of(engine.row)
        return Last(loss, norm, rate, engine.calls - 1, engine.skipped)

    @property
    def epoch(self) -> int:
        """How many epochs `run` and `epochs` have completed; count your own loops by assigning."""
        return self._engine.epoch

    @epoch.setter
    def epoch(self, value: int) -> None:
        self._engine.epoch = require_epoch(value)

    # Runs.

    def epochs(
        self,
        *arrays: Any,
        batch_size: int,
        epochs: int = 1,
        shuffle_seed: int | None = None,
        drop_last: bool = False,
    ) -> Iterator[Epoch]:
        """Train epoch by epoch; the body of the loop is the callback: validate, log, save, break.

        >>> step = wg.TrainStep(lambda w, x: wg.mean((x - w) ** 2), np.zeros(1), wg.optim.SGD(0.5))
        >>> for epoch in step.epochs(np.ones((8, 1)), batch_size=4, epochs=10):
        ...     if epoch.loss < 0.1:
        ...         break
        >>> epoch
        Epoch(1: 2 steps, loss 0)
        """
        run = self._run("TrainStep.epochs", arrays, batch_size, epochs, shuffle_seed, drop_last)
        return run.each_epoch(self._engine, Rates(self._engine, self._several))

    def run(
        self,
        *arrays: Any,
        batch_size: int,
        epochs: int = 1,
        shuffle_seed: int | None = None,
        drop_last: bool = False,
    ) -> History:
        """Train on batches of the rows of these arrays. With a `shuffle_seed` rows come in an order
        that depends on it and on the epoch alone. The last batch of an epoch may be smaller, unless
        `drop_last` leaves it out.
        """
        run = self._run("TrainStep.run", arrays, batch_size, epochs, shuffle_seed, drop_last)
        found = run.each_epoch(self._engine, Rates(self._engine, self._several))
        return joined([epoch.history for epoch in found])

    def _run(
        self,
        by: str,
        arrays: tuple[Any, ...],
        batch_size: int,
        epochs: int,
        shuffle_seed: int | None,
        drop_last: bool,
    ) -> Run:
        epochs = require_epochs(by, epochs)
        require_shuffle_seed(by, shuffle_seed)
        data = Data(by, self._engine.names(len(arrays)), arrays, batch_size)
        return Run(data, epochs, shuffle_seed, bool(drop_last))

    def evaluate(self, f: Callable[..., Any], *arrays: Any, batch_size: int) -> Any:
        """The mean of the tree `f(model, *batch)` over all rows, each batch weighted by its rows.

        >>> step = wg.TrainStep(lambda w, x: wg.sum(w), np.ones(1), wg.optim.SGD(0.1))
        >>> step.evaluate(lambda w, x: {"mean": wg.mean(x * w)}, np.arange(5.0), batch_size=2)
        {'mean': 2.0}
        """
        require_function("TrainStep.evaluate", f, "what to evaluate")
        data = Data(
            "TrainStep.evaluate", LossSignature(f, False).names(len(arrays)), arrays, batch_size
        )
        return weighted_mean(self._bounds.find(f, self.bind), data)

    def bind(self, f: Callable[..., Any]) -> Bound:
        """Compiled `f(model, *args)` on the live parameters.

        >>> step = wg.TrainStep(lambda w, x: wg.mean(x @ w), np.ones(2), wg.optim.SGD(1.0))
        >>> predict = step.bind(lambda w, x: x @ w)
        >>> predict(np.eye(2))
        array([1., 1.])
        """
        require_function("TrainStep.bind", f, "what to bind")
        return Bound(self._engine, f, LossSignature(f, False).names)

    # Going on later.

    def state_dict(self) -> dict[str, Any]:
        """Everything that decides how training goes on, as copies: a tree that wg.save can write.
        A step that loads it gives the same bits as one that never stopped.
        """
        return Checkpoint(self._engine).state_dict()

    def load_state_dict(self, state: Any) -> None:
        """Go on from what `state_dict` gave. The state of another model, of other optimizers or of
        other options is refused, and then nothing changes.
        """
        Checkpoint(self._engine).load(state)

    def save(self, path: File) -> None:
        """Write `state_dict` to a file, which then holds all of it or is as it was before."""
        save(path, self.state_dict())

    def load(self, path: File) -> None:
        """Go on from a file that `save` wrote."""
        self.load_state_dict(load(path))

    def fingerprint(self) -> str:
        """SHA-256 of parameters, optimizer state, carried state, counts and random position. Two
        steps with equal fingerprints, given equal batches, stay equal.
        """
        return fingerprint(Checkpoint(self._engine).parts())

    # Looking.

    def check(self, *batch: Any) -> Check:
        """Compare the step op by op, compiled, and with differences of the loss; nothing changes.
        Raises AssertionError where they disagree.
        """
        return check_step(self._engine, batch)

    def __repr__(self) -> str:
        return described(self._engine, self._several)


def _limits(**given: float | None) -> dict[str, float]:
    """The limits that are some, checked."""
    checked = {name: require_limit(name, value) for name, value in given.items()}
    return {name: value for name, value in checked.items() if value is not None}


def _state_of(name: str, segment: Segment) -> Array | None:
    return segment.states.get(name)
