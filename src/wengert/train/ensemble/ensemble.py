"""Ensemble: many training steps of one program, taken in one native call."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.api.compiling.compile_options import Named, listed, require_dims
from wengert.api.trace import Dims
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.core.words.foreign_names.repairs_of_objects import OF_ENSEMBLES
from wengert.errors import WengertError
from wengert.runtime.outside.live import recording_threads, refuse_calling, refuse_reading
from wengert.runtime.workers import default_threads
from wengert.train.batch import FunctionParameters
from wengert.train.binding import bound_to, parameters_of
from wengert.train.bound_function import EVALUATING, BoundFunction
from wengert.train.ensemble.alike_members import are_given_others, may_be_alike, warn_of_alike
from wengert.train.ensemble.each import Each, given_trees, note_lists, of_member, require_members
from wengert.train.ensemble.ensemble_function import EnsembleFunction
from wengert.train.ensemble.ensemble_state import (
    exchanging,
    load_members,
    loading_members,
    members_state,
    numbers_of_members,
    replacing,
    require_member,
    save_members,
)
from wengert.train.ensemble.evaluated import EvaluatedData
from wengert.train.ensemble.failures import Failures
from wengert.train.ensemble.given import given_members, in_words, require_unshared
from wengert.train.ensemble.member_arguments import GivenArrays, given_arrays
from wengert.train.ensemble.member_calls import MemberCalls, stacked
from wengert.train.ensemble.reports import EnsembleEpoch, EnsembleHistory, EnsembleLast
from wengert.train.ensemble.runs.member_loops import Members
from wengert.train.ensemble.runs.member_run import MemberRun, RunOptions
from wengert.train.ensemble.runs.run_data import RunData
from wengert.train.ensemble.scores import best_of, bootstrap_seeds, rows_of, seeds_of_members
from wengert.train.ensemble.stacked_batches import warn_of_stacked, warn_of_stacked_state
from wengert.train.ensemble.steps_of_members import StepsOfMembers, last_of
from wengert.train.mistakes.copied.originals import warn_of_members
from wengert.train.option_checks import (
    RUN_OPTIONS,
    require_epochs,
    require_function,
    require_only_last,
)
from wengert.train.ranked.ranks import ALONE, Alone
from wengert.train.recorded.step_arrays import LOSS
from wengert.train.remembered_functions import RememberedFunctions
from wengert.train.runs.evaluation import is_same_function, weighted_mean, without_state
from wengert.train.runs.history import Rates
from wengert.train.runs.run import Epochs
from wengert.train.shown.describe import described
from wengert.train.step import TrainStep
from wengert.train.uncopied import Uncopied

OTHERS = "The others have taken this step; it stays as it was."
OPTIONS = (*RUN_OPTIONS, "bootstrap")


@worded_methods(
    *("__init__", "run", "epochs", "evaluate", "bind", "best", "keep", "exchange", "replace"),
    *("load_state_dict", "save", "load", "fingerprint"),
)
class Ensemble(Uncopied, Explained):
    """Many training steps of one program: `ensemble(*batch)` is a step of every member, in one
    native call, and returns their losses.

    `models` is a list with a model for each member, or a function of the seed that makes one.
    `optimizer` is one for all, or a list; its settings may be arrays, and so may `clip_norm` and
    `clip_value`, with an entry for each member: `wg.optim.Adam(np.logspace(-4, -2, 64))`. `seeds`
    are those of the members' random numbers, 0, 1, 2 … by default. All other options are those of
    `wg.TrainStep`, but ranks do not share ensembles: `ranks="alone"` says that each of them has
    members of its own. Each member has the bits that it has as a TrainStep of its own, and
    `ensemble.members[i]` is that step: its model, its optimizer, its state.

    Arguments of a call are given to all members, or `wg.train.each(x)`: x[i] to member i.

    >>> def loss(w, x, y):
    ...     return wg.mean((x @ w - y) ** 2)
    >>> ensemble = wg.Ensemble(loss, [np.zeros(2)] * 3, wg.optim.SGD([0.1, 0.5, 1.0]))
    >>> x, y = np.eye(2), np.ones(2)
    >>> ensemble(x, y), ensemble(x, y)
    (array([1., 1., 1.]), array([0.81, 0.25, 0.  ]))
    """

    _repairs = OF_ENSEMBLES
    _nature = "an Ensemble is called with a batch, and has members, run, bind and evaluate"
    _may_be_alike = False  # whether it is still to be checked if all members take the same steps
    _otherwise = "Make a new one and load_state_dict(ensemble.state_dict()) into it."

    def __init__(
        self,
        loss: Callable[..., Any],
        models: Any,
        optimizer: Any,
        *,
        members: int | None = None,
        seeds: Sequence[int] | None = None,
        state: Any = None,
        has_aux: bool = False,
        strict: bool = False,
        clip_norm: Any = None,
        clip_value: Any = None,
        accumulate: int = 1,
        nonfinite: str = "raise",
        threads: int | None = None,
        cast: bool = True,
        compiled: bool = True,
        dims: Dims | None = None,
        ranks: Alone | None = None,
    ) -> None:
        require_function("Ensemble", loss, "the loss")
        require_unshared(ranks)
        limits = {"clip_norm": clip_norm, "clip_value": clip_value}
        given = given_members(models, optimizer, state, members, seeds, **limits)
        first = given[0]
        options: dict[str, Any] = {
            "has_aux": has_aux,
            "strict": strict,
            "accumulate": accumulate,
            "nonfinite": nonfinite,
            "threads": threads,
            "cast": cast,
            "compiled": compiled,
            "dims": dims,
            "ranks": ALONE,
        } | first.limits
        steps: list[TrainStep] = []
        try:
            steps.append(
                TrainStep(
                    loss,
                    first.model,
                    first.optimizer,
                    state=first.state,
                    seed=first.seed,
                    **options,
                )
            )
            for each in given[1:]:
                steps.append(steps[0]._member(*each))
        except (ValueError, TypeError, WengertError) as error:
            raise in_words(len(steps), error) from error
        self._numbers = itertools.count()  # of bound functions that draw random numbers
        self._one_state = not isinstance(state, Each)  # for all members, and not looked at yet
        self._may_be_alike = may_be_alike(given)
        self._begin(StepsOfMembers(steps))

    def _begin(self, steps: StepsOfMembers) -> None:
        """Go on with these members."""
        self._steps = steps
        self._engines = tuple(step._engine for step in steps)
        first = self._engines[0]
        self._workers = default_threads() if first.threads is None else first.threads
        self._members = Members(self._engines, self._workers)
        self._calls = MemberCalls(self._engines, self._workers)
        self._evaluated = RememberedFunctions(partial(bound_to, first, False, EVALUATING))
        self._count = 0  # of calls
        self._has_looked = False  # at whether the first batch is a stack of them

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse what is no setting: nothing would come of it."""
        if not name.startswith("_"):
            repair = OF_ENSEMBLES.get(name, "Write ensemble.members[i]")
            raise AttributeError(
                f"Ensemble: {name} was set; an ensemble has no settings of its own, its members "
                f"have. {repair.replace('Write', 'Set')}."
            )
        super().__setattr__(name, value)

    @property
    def members(self) -> tuple[TrainStep, ...]:
        """The members, each a TrainStep on its live arrays: its model, its optimizer, its state.
        They share one program, and calls of the ensemble and of its members wait for each other.
        """
        if recording_threads:
            refuse_reading("Ensemble.members")
        return self._steps

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the members."""
        return tuple(engine.seed for engine in self._engines)

    def __len__(self) -> int:
        return len(self._steps)

    # Steps.

    def __call__(self, *batch: Any, **named: Any) -> Any:
        """The loss of each member, or (losses, aux) with an axis of members in front; the models
        are updated.
        """
        batch = self._steps[0]._parameters.by_place("Ensemble", batch, named)
        names = self._engines[0].names(len(batch))
        require_members("Ensemble", names, batch, len(self))
        if recording_threads:
            refuse_calling("Ensemble", "Call it outside, and pass what is needed as an argument.")
        kinds = self._engines[0].kinds
        given = given_arrays("Ensemble", names, batch, kinds.columns.note, kinds.row_order)
        batch = given.arguments
        if not self._has_looked:
            warn_of_stacked("Ensemble", self._engines[0], batch, len(self))
            self._has_looked = True
        if self._one_state:
            self._look_at_state(batch)
        try:
            losses = self._engines[0].guard.change("Ensemble", partial(self._call_inside, given))
        except Exception as error:
            note_lists(error, names, batch, len(self))
            raise
        if self._may_be_alike:
            self._may_be_alike = not are_given_others(batch)
            self._look_for_alike("Ensemble")
        return losses

    def _look_for_alike(self, by: str) -> None:
        """Look, once, whether all members are one model."""
        if self._may_be_alike:
            self._may_be_alike = False
            warn_of_alike(by, self._engines)

    def _look_at_state(self, batch: Sequence[Any]) -> None:
        """Look, once, whether the state that all members begin with is a stack of states."""
        warn_of_stacked_state("Ensemble", self._engines[0], batch, len(self))
        self._one_state = False

    def _call_inside(self, given: GivenArrays) -> Any:
        self._look(given.arguments)
        failures = Failures()
        taken = self._calls.take(given, failures)
        failures.raise_first(len(self), OTHERS)
        first = self._engines[0]
        if not first.zero_gradients.is_over:
            first.zero_gradients.look_at_members("Ensemble", taken.reports[:, np.newaxis])
        if not first.idle_parts.is_over:
            batch, own = given_trees(given.arguments), of_member(given.arguments, 0)
            first.idle_parts.look(self._engines, taken.reports, batch, own)
            first.idle_parts.tell("Ensemble")
        losses = taken.reports[:, LOSS].copy()
        return (losses, taken.aux) if first.plan.has_aux else losses

    def _look(self, batch: Sequence[Any]) -> None:
        """What a call begins with: it is no part of an epoch that was interrupted."""
        first = self._engines[0]
        self._count += 1
        if self._count & (self._count - 1) == 0:  # calls 1, 2, 4, 8 …: native ones do not count
            first.given.let_be(given_trees(batch))
            first.look()
        elif first.shown.trees and first.shown.is_due():
            first.shown.look()
        warn_of_members([step._originals for step in self._steps], in_call=True)
        for engine in self._engines:
            if engine.progress.begun:
                engine.progress = engine.progress._replace(begun=None)

    @property
    def last(self) -> EnsembleLast | None:
        """Loss, norm of the gradients, learning rate and index of the last call, with an entry for
        each member.
        """
        return last_of(self.members)

    # Runs.

    def run(
        self,
        *arrays: Any,
        batch_size: int,
        epochs: int = 1,
        shuffle_seed: int | Sequence[int] | None = None,
        bootstrap: bool | Sequence[int] = False,
        drop_last: bool = False,
        aux: str = "all",
        **named: Any,
    ) -> EnsembleHistory:
        """Train all members on batches of the rows of these arrays: many steps in one native call.
        `shuffle_seed` is one for all, or a list with one for each member (`ensemble.seeds`). With
        `bootstrap` each member is given rows drawn with replacement, by its seed or by those of a
        list: `wg.train.bootstrap_rows`. All else is as in `TrainStep.run`.
        """
        order = shuffle_seed, bootstrap
        run = self._run("Ensemble.run", (arrays, named), batch_size, epochs, order, drop_last, aux)
        history = run.whole()
        self._look_for_alike("Ensemble.run")
        return history

    def epochs(
        self,
        *arrays: Any,
        batch_size: int,
        epochs: int = 1,
        shuffle_seed: int | Sequence[int] | None = None,
        bootstrap: bool | Sequence[int] = False,
        drop_last: bool = False,
        aux: str = "all",
        **named: Any,
    ) -> Iterator[EnsembleEpoch]:
        """The same epoch by epoch; the body of the loop is the callback."""
        given, order = (arrays, named), (shuffle_seed, bootstrap)
        run = self._run("Ensemble.epochs", given, batch_size, epochs, order, drop_last, aux)
        return Epochs(run.options.by, run.options.epochs, self._each_epoch(run))

    def _each_epoch(self, run: MemberRun) -> Iterator[EnsembleEpoch]:
        for epoch in run.each_epoch():
            self._look_for_alike(run.options.by)
            yield epoch
            warn_of_members([step._originals for step in self._steps])

    def _run(
        self,
        by: str,
        given: tuple[tuple[Any, ...], Mapping[str, Any]],
        batch_size: int,
        epochs: int,
        order: tuple[Any, Any],
        drop_last: bool,
        aux: str,
    ) -> MemberRun:
        warn_of_members([step._originals for step in self._steps])
        first, count = self._engines[0], len(self)
        simple = {"batch_size": batch_size, "epochs": epochs, "drop_last": drop_last, "aux": aux}
        self._steps[0]._parameters.require_no_option(by, simple)
        arrays = self._steps[0]._parameters.by_place(by, *given, OPTIONS)
        names = first.names(len(arrays))
        require_members(by, names, arrays, count)
        shuffle_seed, bootstrap = order
        options = RunOptions(
            by,
            require_epochs(by, epochs),
            seeds_of_members(by, "shuffle_seed", shuffle_seed, count),
            self.seeds if bootstrap is True else bootstrap_seeds(by, bootstrap, count),
            bool(drop_last),
            require_only_last(by, aux),
        )
        warn_of_stacked(by, first, arrays, count)
        self._may_be_alike = self._may_be_alike and not are_given_others(arrays)
        if self._one_state:
            self._look_at_state(arrays)
        data = RunData(by, names, arrays, batch_size, first)
        return MemberRun(self._members, data, options, Rates(first, self._steps[0]._several))

    # Functions of the models.

    def bind(
        self,
        f: Callable[..., Any],
        *,
        dims: Dims | None = None,
        static: Named | Iterable[Named] = (),
    ) -> EnsembleFunction:
        """Compiled `f(model, *args)` on the live parameters of all members, in one native call: a
        tree with an axis of members in front. `bound.mean(*args)` and `bound.spread(*args)` are
        its mean and its standard deviation over members. Options are those of `TrainStep.bind`.

        >>> models = [np.ones(2), np.zeros(2)]
        >>> ensemble = wg.Ensemble(lambda w, x: wg.mean(x @ w), models, wg.optim.SGD(1.0))
        >>> predict = ensemble.bind(lambda w, x: x @ w)
        >>> predict(np.eye(2)), predict.mean(np.eye(2)), predict.spread(np.eye(2))
        (array([[1., 1.],
               [0., 0.]]), array([0.5, 0.5]), array([0.5, 0.5]))
        """
        require_function("Ensemble.bind", f, "what to bind")
        require_dims("Ensemble.bind", dims)
        first = self._engines[0]
        first.look()
        parameters = parameters_of(first, f)
        number = next(self._numbers) if parameters.wants_rng else 0
        named = parameters.named("Ensemble.bind", listed("static", static, "Ensemble.bind"))
        return self._function(bound_to(first, False, number, f, dims, None, named), parameters)

    def _function(self, bound: BoundFunction, parameters: FunctionParameters) -> EnsembleFunction:
        return EnsembleFunction(lambda: self._engines, self._workers, bound, parameters)

    def evaluate(
        self,
        f: Callable[..., Any],
        /,
        *arrays: Any,
        batch_size: int,
        dims: Dims | None = None,
        **named: Any,
    ) -> Any:
        """The mean of the tree `f(model, *batch)` over all rows, each batch weighted by its rows,
        for each member: arrays with an axis of members in front. `dims` as in `TrainStep.evaluate`.
        """
        by, first = "Ensemble.evaluate", self._engines[0]
        require_function(by, f, "what to evaluate")
        own: tuple[Any, ...] = ()
        if first.plan.carried is not None and is_same_function(f, first.plan.loss):
            f = without_state(f, first.plan.has_aux)
            own = (Each(stacked([engine.carried_state() for engine in self._engines])),)
        parameters = parameters_of(first, f)
        require_dims(by, dims)
        bound, options = self._evaluated.find(f, dims), ("batch_size", "dims")
        given = parameters.by_place(by, (*own, *arrays), named, options)[len(own) :]
        names = parameters.names(len(own) + len(given))[len(own) :]
        require_members(by, names, given, len(self))
        data = EvaluatedData(by, names, given, batch_size, own, first, f, len(self))
        first.look()
        function = self._function(bound, parameters)
        return first.guard.read(lambda: weighted_mean(function, data, by, in_front=1))

    # Which members go on.

    def best(
        self,
        metric: Any,
        *arrays: Any,
        count: int | None = None,
        largest: bool = False,
        batch_size: int | None = None,
    ) -> Any:
        """The number of the member with the smallest metric, or with the `largest`; with `count`
        the numbers of so many, the best first. `metric` has a number for each member, or is a
        function that is evaluated on arrays. NaN is worse than any number, and
        refused where no member has another.
        """
        if callable(metric):
            size = batch_size if batch_size is not None else rows_of(arrays)
            metric = self.evaluate(metric, *arrays, batch_size=size)
        return best_of(metric, len(self), count, largest)

    def keep(self, indices: Any) -> None:
        """Go on with these members alone, given by their numbers, in this order."""
        numbers = numbers_of_members("Ensemble.keep", indices, len(self))
        steps = StepsOfMembers(self._steps[i] for i in numbers)
        self._engines[0].guard.change("Ensemble.keep", partial(self._begin, steps))

    def exchange(self, i: int, j: int) -> None:
        """Let two members change places: models, states of optimizers, carried states and counts go
        to the other one; learning rates and other settings, limits and seeds stay.
        """
        by = "Ensemble.exchange"
        a, b = (self._engines[require_member(by, k, len(self))] for k in (i, j))
        a.guard.change(by, lambda: a.guard.commit(exchanging(a, b)))

    def replace(self, i: int, by: int) -> None:
        """Let member i go on from where member `by` is: it has a copy of its model, states and
        counts, and its own settings, limits and seed. That is one half of population-based
        training; to change its settings is the other.
        """
        name = "Ensemble.replace"
        a, b = (self._engines[require_member(name, k, len(self))] for k in (i, by))
        a.guard.change(name, lambda: a.guard.commit(replacing(a, b)))

    # Going on later.

    def state_dict(self) -> dict[str, Any]:
        """Everything that decides how training goes on, of every member, as copies."""
        self._engines[0].look()
        return self._engines[0].guard.read(lambda: members_state(self._engines))

    def load_state_dict(self, state: Any) -> None:
        """Go on from what `state_dict` gave. The state of another number of members, or of members
        of another form, is refused, and then nothing changes.
        """
        self._load("Ensemble.load_state_dict", lambda: state)

    def save(self, path: Any) -> None:
        """Write `state_dict` to a file, which then holds all of it or is as it was before."""
        self._engines[0].look()
        self._engines[0].guard.read(lambda: save_members(self._engines, path))

    def load(self, path: Any) -> None:
        """Go on from a file that `save` wrote."""
        self._load("Ensemble.load", lambda: load_members(path))

    def _load(self, by: str, state: Callable[[], Any]) -> None:
        guard = self._engines[0].guard
        from_state = partial(loading_members, by, self._engines)
        guard.change(by, lambda: guard.commit(from_state(state())), replaces_all=True)
        self._engines[0].given.accept()

    def fingerprint(self, member: int) -> str:
        """SHA-256 of all that decides how a member goes on: that of the same TrainStep alone."""
        return self._steps[require_member("Ensemble.fingerprint", member, len(self))].fingerprint()

    def __repr__(self) -> str:
        each = described(self._engines, self._steps[0]._several)
        return f"Ensemble({len(self)} members, on {self._workers} threads), each {each}"
