"""StepViews: what a training step shows of itself, and what can be set while it trains."""

from __future__ import annotations

from functools import partial
from typing import Any

from wengert.core.words.named_dict import NamedDict
from wengert.optim.quasi_newton.search_result import warn_of_unread_results_before_reading
from wengert.runtime.outside.live import recording_threads, refuse_reading
from wengert.train.engine import Engine
from wengert.train.option_checks import require_epoch, require_limit
from wengert.train.recorded.optimizer_groups import Optimizers
from wengert.train.runs.history import Last, Rates
from wengert.train.segments import Segment
from wengert.train.storage import Array, state_assignment


class StepViews:
    """The attributes of a step: live arrays, settings and counts. None of them may be read while a
    function is recorded: they would be constants of its program.
    """

    _engine: Engine
    _several: bool  # whether there is a dict of optimizers

    # Live arrays.

    @property
    def model(self) -> Any:
        """A tree of the model's type whose arrays are the live parameters; assigning copies. Before
        the first update, averages of weights begin anew there; all else that optimizers keep stays.
        """
        if recording_threads:
            refuse_reading("TrainStep.model")
        storage = self._engine.plan.storage
        warn_of_unread_results_before_reading("TrainStep.model", storage.leaves)
        self._engine.restored.note_shown()
        return self._engine.shown.show("model", storage.tree(storage.leaves))

    @model.setter
    def model(self, model: Any) -> None:
        engine, storage = self._engine, self._engine.plan.storage

        def assign() -> None:
            copy = storage.assignment(model)

            def begin() -> None:
                copy()
                if not engine.updates:
                    storage.begin_followers()
                    engine.measure_states()

            engine.guard.commit(begin)

        before = engine.restored.mark_of_weights()
        engine.guard.change("TrainStep.model", assign)
        engine.restored.note_model(before)
        engine.shown.accept("model")  # it may be that very tree
        engine.given.accept()

    @property
    def gradients(self) -> Any:
        """Live gradients in the form of the model: of the last call, averaged over accumulation,
        before clipping. None where nothing is trained.
        """
        if recording_threads:
            refuse_reading("TrainStep.gradients")
        storage = self._engine.plan.storage
        shown = storage.views(lambda segment: segment.gradients)
        return self._engine.shown.show("gradients", shown)

    @property
    def state(self) -> Any:
        """The live state that is carried from call to call; assigning copies. None without one."""
        if recording_threads:
            refuse_reading("TrainStep.state")
        state = self._engine.carried_state()
        return None if state is None else self._engine.shown.show("state", state)

    @state.setter
    def state(self, state: Any) -> None:
        engine = self._engine

        def assign() -> None:
            engine.guard.commit(state_assignment(engine.carried, engine.plan.carried, state))

        engine.guard.change("TrainStep.state", assign)
        engine.restored.note_state()
        engine.shown.accept("state")
        engine.given.accept()

    @property
    def optimizer_states(self) -> dict[str, Any]:
        """What the optimizers keep, by name: live trees in the form of the model, with 0 for its
        numbers and None where an optimizer keeps no such thing. Those that follow the weights, as
        the average of `wg.optim.EMA` and the slow weights of `wg.optim.Lookahead`, are whole
        models: numbers are the model's, and so are the weights that an optimizer does not follow,
        which can only be read there.
        """
        if recording_threads:
            refuse_reading("TrainStep.optimizer_states")
        engine = self._engine
        engine.guard.read(partial(engine.unseen.fill, False))  # they can be written to from now on
        storage = self._engine.plan.storage
        names = dict.fromkeys(name for segment in storage.trained for name in segment.states)
        following = {name for segment in storage.trained for name in segment.followers}
        shown = {
            name: storage.followed(name)
            if name in following
            else storage.views(partial(_state_of, name))
            for name in names
        }
        named = NamedDict("TrainStep.optimizer_states", shown)
        return engine.shown.show("optimizer_states", named)  # type: ignore[no-any-return]

    # Numbers.

    @property
    def optimizer(self) -> Any:
        """The step's own copy of the optimizer, or of the dict of them, whose items stay as they
        are. Its learning rate is that of the next update; setting it acts on the next call.
        """
        if recording_threads:
            refuse_reading("TrainStep.optimizer")
        groups = self._engine.plan.groups
        return Optimizers(groups) if self._several else groups[0].optimizer

    @property
    def clip_norm(self) -> float | None:
        """The largest norm of all gradients as one vector; longer ones are shortened."""
        if recording_threads:
            refuse_reading("TrainStep.clip_norm")
        return self._engine.limits.get("clip_norm")

    @clip_norm.setter
    def clip_norm(self, value: float | None) -> None:
        self._set_limit("clip_norm", value)

    @property
    def clip_value(self) -> float | None:
        """The largest absolute value of a gradient's element."""
        if recording_threads:
            refuse_reading("TrainStep.clip_value")
        return self._engine.limits.get("clip_value")

    @clip_value.setter
    def clip_value(self, value: float | None) -> None:
        self._set_limit("clip_value", value)

    def _set_limit(self, name: str, value: float | None) -> None:
        engine = self._engine

        def change() -> None:
            given = {**dict.fromkeys(("clip_norm", "clip_value")), **engine.limits, name: value}
            engine.guard.commit(partial(engine.set_limits, limits_of(**given)))

        engine.guard.change(f"TrainStep.{name}", change)

    @property
    def last(self) -> Last | None:
        """Loss, norm of the gradients, learning rate and index of the last call."""
        if recording_threads:
            refuse_reading("TrainStep.last")
        self._engine.guard.settle_what_is_left()
        row, report, index, skipped = self._engine.noted
        if report is None:
            return None
        loss, norm = report.tolist()
        return Last(loss, norm, Rates(self._engine, self._several).of(row), index, skipped)

    @property
    def calls(self) -> int:
        """How many calls the step has taken, those of runs among them; saved and loaded with it.

        >>> step = wg.TrainStep(lambda w, x: wg.mean((x - w) ** 2), np.zeros(1), wg.optim.SGD(0.5))
        >>> history = step.run(np.ones((8, 1)), batch_size=4, epochs=3)
        >>> step.calls
        6
        """
        if recording_threads:
            refuse_reading("TrainStep.calls")
        self._engine.guard.settle_what_is_left()
        return self._engine.calls

    @property
    def epoch(self) -> int:
        """How many epochs `run` and `epochs` have completed; count your own loops by assigning."""
        if recording_threads:
            refuse_reading("TrainStep.epoch")
        self._engine.guard.settle_what_is_left()
        return self._engine.progress.epoch

    @epoch.setter
    def epoch(self, value: int) -> None:
        engine, epoch = self._engine, require_epoch(value)

        def assign() -> None:
            engine.progress = engine.progress._replace(epoch=epoch, begun=None)

        engine.guard.change("TrainStep.epoch", assign)


def limits_of(**given: float | None) -> dict[str, float]:
    """The limits that are not None, checked."""
    checked = {name: require_limit(name, value) for name, value in given.items()}
    return {name: value for name, value in checked.items() if value is not None}


def _state_of(name: str, segment: Segment) -> Array | None:
    return segment.states.get(name)
