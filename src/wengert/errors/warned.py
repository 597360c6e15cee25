"""Every warning; `wengert.errors`, where people find them, says how they are shown and silenced."""

from __future__ import annotations


class WengertWarning(UserWarning):
    """Base of all warnings below: a program that runs, and most likely is not what was meant."""


class GroupWarning(WengertWarning):
    """A glob in a dict of optimizers takes no parameter, since those before it take all it matches.

    {"*": Adam(1e-3), "bias": None} trains the bias; {"bias": None, "*": Adam(1e-3)} does not.
    """


class SizeWarning(WengertWarning):
    """Python needed an open size, or a number that is an argument, as a number of its own, so that
    a program is made for each of them.
    """


class ProgramsWarning(WengertWarning):
    """A function has a third program. The text says what differed, and how to have one program. Or
    a loop makes a TrainStep in every turn, and calls it once.
    """


class RandomnessWarning(WengertWarning):
    """NumPy, Python or torch drew random numbers while a function was recorded, or a generator of a
    constant key did; they stay the same. Or a step is called with the same key again and again, or
    its loss returns a key of the state as it came.

    Draw from `rng`, a parameter of a loss, or from `wg.random` with a key that is an argument.
    """


class AlikeWarning(WengertWarning):
    """All members of an ensemble have the same numbers after their first steps: they are one model.
    Or two matrices of one model begin alike and are trained alike, as twin critics of one seed.

    Give them other models, settings or batches: `wg.Ensemble(loss, lambda seed: make(seed), …)`.
    """


class CaptureWarning(WengertWarning):
    """What a function reads from outside its arguments is too much to be compared in every call, or
    changes without changing the program, which is recorded again each time; or it is a tensor of
    torch, or a table with objects, whose numbers are not compared at all.
    """


class DropoutWarning(WengertWarning):
    """A dropout in the loss of a TrainStep was given no generator, and drops nothing; or the loss
    was evaluated, and its dropout drops there, too.

    Give the loss an argument `rng`, and pass it on: `def loss(model, x, y, rng=None)`. A step
    always gives it a generator; `step.evaluate(loss, …)` leaves it at None.
    """


class BatchNormWarning(WengertWarning):
    """The loss of a TrainStep was evaluated, and a BatchNorm in it has `training=True` there, too:
    what is measured depends on which rows share a batch. Or a loss, or a function of `bind`, does
    not return the new state of one, and its running statistics stay what they are. Or one that is
    trained has `training=False` in the loss, or in a function of `bind` after training, with the
    mean 0 and variance 1 of the beginning. Or one without `axis=1` stands behind a convolution, and
    takes columns for channels.

    Evaluate another function, with `training=False`; in `wg.train.fit` it is `validation_loss`.
    Carry the state: `TrainStep(loss, model, optimizer, state=norm.initial_state())`.
    """


class RowOrderWarning(WengertWarning):
    """Two frames or series of pandas have the same labels of rows in different orders, or the
    labels of different rows. Rows are paired by their places, as NumPy does it.

    `y.loc[x.index]` is y in the order of x; `y.to_numpy()` has no labels.
    """


class ColumnOrderWarning(WengertWarning):
    """A frame has the columns that a step was trained on in another order. Columns count by their
    places, as NumPy does it.

    `x[columns]` has them in the order of a list; `x.to_numpy()` has no names.
    """


class RoundingWarning(WengertWarning):
    """A float32 model is given float64 numbers that hardly differ beside their size, as times
    do, and rounds their differences away. Subtract an origin from them before the call.
    """


class WideningWarning(WengertWarning):
    """Something makes float64 of the float32 that a recorded program computes with: a NumPy scalar
    or array, `wg.zeros(shape)` without a dtype, what was computed of integers or bools, or a
    float64 leaf of the model or the state.

    `x / np.sqrt(2)` is float64, as in NumPy; `x / math.sqrt(2)` keeps the dtype of x. So is
    `counts @ w` for int64; `counts.astype(np.float32) @ w` is not.
    """


class UntrainedWarning(WengertWarning):
    """A Python float stands in a dict or list of a model. It is part of the program, and not
    trained. Or the loss computes with integers of the model as with floats: they are data. Or it
    reads an array that the step was made with, and not the step's own copy; so may a function that
    is bound or evaluated. Or the loss calls a layer that is no part of the model, or makes one
    itself.

    `{"w": w, "scale": 1.0}` has one parameter; `{"w": w, "scale": np.float32(1.0)}` has two. A
    number that is a setting belongs into the loss, or into a field of a dataclass.
    """


class LogitsWarning(WengertWarning):
    """A loss or a distribution that takes logits, such as `wg.cross_entropy`, is given what a
    softmax or a sigmoid made: probabilities. It would apply another one to them, and hardly learn
    anything. A softmax of your own, and rows of an array that add up to 1, count, too. Or it is
    given one logit, whose softmax is always 1; or a softmax goes along the only output of a layer;
    or `wg.kl_div` is given probabilities or logits where it takes logarithms of probabilities.

    Pass what goes into the softmax; of one logit, use `wg.bce_with_logits`; name the axis of what
    is weighed.
    """


class TargetsWarning(WengertWarning):
    """A program is given targets outside of [0, 1] for a loss that takes probabilities, such as
    `wg.bce_with_logits`. With labels of -1 and 1 it falls below 0 and has no minimum. Or the second
    operand of `wg.kl_div` are logarithms or logits.

    Write `y > 0` for them. Or float targets of `wg.cross_entropy` are no probabilities: they lie
    outside of [0, 1], or rows with several classes do not add up to 1. Or labels and categories of
    which some are missing, NaN, become integers: these would be class 0.
    """


class MaskWarning(WengertWarning):
    """A mask of attention has floats that are 0 and 1. Floats are added to the scores; what hides
    keys are bools, or -inf. Or a mask of bools is true only for keys behind the query: bools are
    true where a query may look. Or a mask of each row, (batch, 1, time), lies along the heads.
    Or a mask of floats stands in a model, and is trained.
    """


class ScannedRowsWarning(WengertWarning):
    """A recurrent layer in a loss goes along the rows of the batch: its sequences have the shape
    (batch, time, in), and time must be axis 0.

    Write `hs, last = layer(wg.swapaxes(x, 0, 1))`; the outputs are (time, batch, hidden). Or a run
    shuffles its rows, and the loss has something go along them, or reads from outside what belongs
    to each of them, such as weights: pass it as an argument.
    """


class PairedRowsWarning(WengertWarning):
    """A loss computes one number for each pair of rows of a batch, and reduces all of them: it has
    predictions of shape (n, 1) and targets of shape (n,), or the other way around.

    Write `(model(x)[:, 0] - y) ** 2`, or give targets of shape (n, 1); of a table of one column,
    `Embedding(k, 1)(u)[:, 0]`. Where all pairs are meant, `p[:, None] - y[None, :]` says so. Or
    it has `a @ b.T` where a product of each row is meant: write `wg.sum(a * b, axis=1)`.
    """


class FirstRowWarning(WengertWarning):
    """A loss takes the largest or smallest of each row, and uses that of the first row alone:
    `q.max(1)[0]`, as in PyTorch, whose `max` gives values and indices.

    Write `q.max(1)`; the indices are `q.argmax(1)`. Or it takes a time for each row from the states
    of one row, `states[last][:, 0]`: write `states[last, wg.arange(n)]`. Or it compares what the
    model gives for one row with the targets of all: `h[-1]` of a last state (batch, hidden), which
    has no axis of layers here, `hs[:, -1]` of outputs (time, batch, hidden), `model(x)[0]`. Or it
    adds it to all, `x + attention(x)[0]`: layers give one array here, not a pair.
    """


class SummedRowsWarning(WengertWarning):
    """A function that sums over the rows of a batch was evaluated in several batches: what
    `step.evaluate` gives, a mean over rows, depends on `batch_size`. Or one that gives no mean: a
    root, a quotient or the largest of what it computes over the rows. Or a loss takes the mean of
    the sum of its rows, a single number: `wg.kl_div(…, reduction="none").sum(-1).mean()`.

    Return a mean, and multiply it by the number of rows if the sum is meant.
    """


class TiedWarning(WengertWarning):
    """One array stands at several places of one list of a model, and is one parameter there; or
    one network stands under two names of a dict, and is one network; or two arrays of a model share
    memory, and are two parameters of their own; or one array is assigned to two parameters of a
    step, which part again; or two arrays take turns under one id in
    `optimizer.step`, and share its state.

    `[np.zeros(3)] * 2` has one array; `[np.zeros(3) for _ in range(2)]` has two. `{"emb": E, "out":
    E.T}` has two; `{"emb": E}`, with `model["emb"].T` in the loss, has one.
    """


class FrozenValueWarning(WengertWarning):
    """A function that is recorded changes something and computes with it: `self.t += 1` in a loss,
    `count[0] += 1` of an array, `next(iterator)`; or the body of a loop does. Or it writes a number
    to a model that is made for the call, where it is lost. Or a loss computes a new state, and
    returns the old one.

    It is recorded once, and the value of then is part of the program. Pass it as an argument, or
    carry it as state.
    """


class CheckpointWarning(WengertWarning):
    """A file was saved with a function of another name than that of the tree it is loaded into; or
    a fit is resumed with other settings or fewer epochs than it has. Or a step goes on with the
    settings of a state that it has loaded, and was made with others; or from a fit that has trained
    on rows which validate now.

    Files keep no functions: `wg.load(path, like=model)` takes those of the model.
    """


class CopiedWarning(WengertWarning):
    """A setting of the optimizer that a TrainStep was made with was changed, its dict of optimizers
    or the array of rates of an ensemble, or something was written into an array of the model or the
    state that it was made with, and the step was called afterwards. Or two steps that take turns
    were made with one network, or one of them reads a part of their model that only the other one
    trains. Or a bound function has the state that the step was made with, after training. Each has
    its own copy.

    `step.optimizer.lr = 1e-4` acts on the next call; `optimizer.lr = 1e-4` does not.
    `step.model.w[...] = w` sets weights; `model.w[...] = w` does not.
    """


class AccumulationWarning(WengertWarning):
    """A run has fewer batches than `accumulate` needs for one update, and trains nothing."""


class ScheduleWarning(WengertWarning):
    """A schedule has come to learning rates of next to nothing, or a `OneCycle` to its end, and
    training goes on. Or one ends behind as few updates as a run has epochs. Or one that follows a
    metric, `ReduceOnPlateau`, was shown none in many epochs. Or the decay of a `wg.optim.EMA` is
    below 0.5, or 1.

    Schedules count updates, not epochs: `StepDecay(lr, step_size=10 * batches)` for ten epochs.
    """


class UnreachedWarning(WengertWarning):
    """No gradient reaches a parameter, and weight decay makes it smaller all the same; or the loss
    computes with it, as behind an argmax or a stop_gradient around too much. Or the gradient of
    every parameter, or of all that a part of the model has, is exactly 0 in the first calls of a
    step, and that is not trained. Or `LBFGS.minimize` ends where the function still falls, as
    its values or weights are so small that it takes them for a minimum.

    Freeze a parameter that is not used: {"head.*": None, "*": AdamW(1e-3)}.
    """


class UnusedWarning(WengertWarning):
    """`step.epochs(…)` without a loop trains nothing. `wg.load(path, like=model)`, `update` of an
    optimizer and `from_torch_names` return a new model, and change nothing where that is dropped.
    Or nothing reads what `row -= mean` makes of a Tensor, which is never changed in place.
    Or `torch.no_grad()` stands around a part of a loss, through which gradients go all the same.

    Write `for epoch in step.epochs(…):`, or `step.run(…)`.
    """


class CaughtWarning(WengertWarning):
    """A `try` has caught the TraceError of `float(x)` or `if x > 0`; with arrays, the function goes
    on in another way. Write both ways, with `wg.where` or `wg.cond`."""


class LiveWarning(WengertWarning):
    """The live arrays of a TrainStep were assigned to it, or something was put in their place into
    a tree that the step has shown, or a setting was changed there; all of it changes nothing.

    `best = wg.tree.copy(step.model)` is a snapshot; `best = step.model` goes on changing.
    """


class RankWarning(WengertWarning):
    """All ranks were given the same rows as their parts of a batch: each computes all of it.

    `step(*wg.parallel.shard(ranks, x, y))` gives each rank its part.
    """


class UnsharedWarning(WengertWarning):
    """A process that was started as one of several ranks trains by itself, and so do the others.

    `ranks=wg.parallel.mpi()` shares each step; `ranks="alone"` says that each trains its own.
    """


class StackedWarning(WengertWarning):
    """All members of an ensemble were given a batch, or a part of one, that looks like a stack, one
    for each member; or a state that looks like a stack of states.

    `wg.train.each(x)` gives x[i] to member i, and `state=wg.train.each(state)` gives state[i].
    """


class SweepWarning(WengertWarning):
    """Settings of a sweep failed, alone or as a group; all seeds gave the same numbers; a setting
    went on with the step of another one; or the folder holds another grid, or unreadable files.
    """
