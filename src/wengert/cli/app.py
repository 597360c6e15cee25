"""The commands with their flags."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from glob import escape, glob
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from wengert.cli.datasets.builtin_sets import SETS
from wengert.cli.datasets.data_source import ENDINGS
from wengert.cli.datasets.preparation import CLASSIFICATION, DROP, FILL, REFUSE, REGRESSION
from wengert.cli.exit_codes import ExitCode, UsageFault
from wengert.cli.launching_ranks import LAUNCH_EXAMPLES, launched
from wengert.cli.looking.comparing import (
    aligned,
    comparison_page,
    differing_rows,
    read_runs,
    result_rows,
)
from wengert.cli.looking.doctor import examined
from wengert.cli.looking.inspecting import inspected
from wengert.cli.looking.predicting import predictions, require_no_loss, require_page, write_text
from wengert.cli.running.live_progress import LiveProgress
from wengert.cli.running.run_folder import RunFolder, next_folder
from wengert.cli.running.train_run import TrainRun, resumed_settings
from wengert.cli.told import code_of, note, put, say, write_any_letter
from wengert.cli.train_command import TrainCommand
from wengert.cli.train_settings import (
    OPTIMIZERS,
    SCHEDULES,
    TrainSettings,
    flag,
    merged,
    parsed_layers,
    read_config,
    require_setting,
)
from wengert.nn.activations import ACTIVATIONS

_DEFAULTS = TrainSettings()
TRAIN_HELP = """Train a network on a table, and write a report.

DATA is a file (.csv, .tsv, .parquet, .npy, .npz) or a built-in set. Columns of text become
categories, numbers are standardised; whether classes or numbers are to be predicted is found out
from the target. All of it is saved with the model.
"""
TRAIN_EXAMPLES = """Examples:

wengert train digits

wengert train houses.csv --target price --layers 64,64 --epochs 100 --patience 10

wengert train --config run.toml --lr 0.01

wengert train --resume runs/digits-1 --epochs 80

Built-in sets: """ + "; ".join(f"{name} ({text})" for name, text in SETS.items())
EXIT_CODES = (
    "Exit codes: 0 done, 2 wrong usage, 3 bad data, 4 a run cannot be read or written, 5 numbers "
    "are not finite, 6 a package is missing, 7 a check failed, 130 interrupted and saved."
)
PREDICT_EXAMPLES = """Examples:

wengert predict runs/houses-1 new.csv --out prices.csv

wengert predict runs/digits-1 digits --probabilities | head"""
COMPARE_EXAMPLES = """Example:

wengert compare runs/digits-1 runs/digits-2 --out compare.html"""


def _complete_data(incomplete: str) -> list[str]:
    """Built-in sets, folders, and files that can be read."""
    completions = [name for name in SETS if name.startswith(incomplete)]
    for path in sorted(glob(f"{escape(incomplete)}*")):
        if Path(path).is_dir():
            completions.append(f"{path}/")
        elif path.lower().endswith(ENDINGS):
            completions.append(path)
    return completions


def _option(text: str, default: Any = None, *names: str, panel: str | None = None) -> Any:
    shown = text if default is None else f"{text} (default: {default})"
    return typer.Option(*names, help=shown, rich_help_panel=panel, show_default=False)


_D, _M, _T, _R = "Data", "Model", "Training", "Run"
Data = Annotated[
    str | None,
    typer.Argument(
        help="A file, or a built-in set.", show_default=False, autocompletion=_complete_data
    ),
]
RunPath = Annotated[Path, typer.Argument(help="The folder of a run.", show_default=False)]


def train(
    context: typer.Context,
    data: Data = None,
    target: Annotated[str | None, _option("The column to predict.", panel=_D)] = None,
    task: Annotated[
        str | None, _option(f"{CLASSIFICATION} or {REGRESSION}.", "found out", panel=_D)
    ] = None,
    categorical: Annotated[
        list[str] | None,
        _option("A column of categories that looks like numbers; may repeat.", panel=_D),
    ] = None,
    ignore: Annotated[
        list[str] | None, _option("A column to leave out; may repeat.", panel=_D)
    ] = None,
    keep: Annotated[
        list[str] | None,
        _option("A column to learn from although it numbers the rows; may repeat.", panel=_D),
    ] = None,
    missing: Annotated[
        str | None,
        _option(
            f"Missing cells: {REFUSE}, {DROP} their rows, {FILL} with means.", REFUSE, panel=_D
        ),
    ] = None,
    delimiter: Annotated[
        str | None, _option("What separates columns.", "',' of .csv, tab of .tsv", panel=_D)
    ] = None,
    no_header: Annotated[
        bool, _option("The first line is data.", None, "--no-header", panel=_D)
    ] = False,
    validation: Annotated[
        float | None, _option("Share of rows to hold out.", _DEFAULTS.validation, panel=_D)
    ] = None,
    layers: Annotated[
        str | None, _option("Sizes of hidden layers; none: a linear model.", "128,64", panel=_M)
    ] = None,
    activation: Annotated[
        str | None, _option(", ".join(ACTIVATIONS), _DEFAULTS.activation, panel=_M)
    ] = None,
    dropout: Annotated[float | None, _option("Share of hidden units to drop.", 0, panel=_M)] = None,
    optimizer: Annotated[
        str | None, _option(", ".join(OPTIMIZERS), _DEFAULTS.optimizer, panel=_T)
    ] = None,
    lr: Annotated[float | None, _option("Learning rate.", _DEFAULTS.lr, panel=_T)] = None,
    momentum: Annotated[float | None, _option("Of sgd, rmsprop, lars.", panel=_T)] = None,
    weight_decay: Annotated[float | None, _option("Weight decay.", panel=_T)] = None,
    schedule: Annotated[
        str | None, _option(", ".join(SCHEDULES), _DEFAULTS.schedule, panel=_T)
    ] = None,
    warmup: Annotated[float | None, _option("Epochs of warm-up.", 0, panel=_T)] = None,
    clip: Annotated[float | None, _option("Largest norm of the gradient.", panel=_T)] = None,
    batch_size: Annotated[
        int | None, _option("Rows per step.", _DEFAULTS.batch_size, panel=_T)
    ] = None,
    epochs: Annotated[
        int | None, _option("Passes over the data.", _DEFAULTS.epochs, panel=_T)
    ] = None,
    patience: Annotated[
        int | None, _option("Stop after so many epochs that are no better; 0: never.", 0, panel=_T)
    ] = None,
    seed: Annotated[
        int | None, _option("Of the split, the weights and the order of rows.", 0, panel=_T)
    ] = None,
    threads: Annotated[
        int | None, _option("Threads; the bits are the same for any number.", "all", panel=_R)
    ] = None,
    config: Annotated[
        Path | None, _option("Settings in TOML, by the names of the flags; flags win.", panel=_R)
    ] = None,
    out: Annotated[
        Path | None, _option("Folder of the run.", "runs/NAME-1, -2, …", panel=_R)
    ] = None,
    resume: Annotated[
        Path | None, _option("A run to go on with, to the same bits.", panel=_R)
    ] = None,
    deterministic_check: Annotated[
        bool,
        _option(
            "First train a little on 1 thread and on several, and compare every bit.",
            None,
            "--deterministic-check",
            panel=_R,
        ),
    ] = False,
) -> None:
    flags = {
        name: value
        for name, value in context.params.items()
        if name in TrainSettings.__dataclass_fields__ and _is_given(value)
    }
    if layers is not None:
        flags["layers"] = layers
    if no_header:
        flags["header"] = False
    command = partial(_train, flags, config, out, resume, deterministic_check)
    raise typer.Exit(code_of(command))


def _is_given(value: Any) -> bool:
    """Whether a flag was given. Of one that may repeat, versions of typer make None, [] or ()."""
    return value is not None and not (isinstance(value, list | tuple) and not value)


def _train(
    given: dict[str, Any],
    config: Path | None,
    out: Path | None,
    resume: Path | None,
    deterministic_check: bool,
) -> ExitCode:
    flags = dict(given)
    if "layers" in flags:
        flags["layers"] = parsed_layers(flags["layers"])
    for name in ("categorical", "ignore", "keep"):
        if name in flags:
            flags[name] = tuple(flags[name])
    checked = {name: require_setting(name, value, flag(name)) for name, value in flags.items()}
    if resume is not None:
        if config is not None or out is not None:
            raise UsageFault(
                "--resume: given with --config or --out; a run goes on with its own settings, in "
                "its own folder. Leave them out."
            )
        settings, folder = resumed_settings(resume, checked), RunFolder(resume)
    else:
        settings = merged({} if config is None else read_config(config), checked)
        if not settings.data:
            raise UsageFault(
                f"train: no data was given. Name a file, or a built-in set: {', '.join(SETS)}."
            )
        folder = RunFolder(next_folder(settings.data) if out is None else out)
    console = Console(highlight=False)
    return TrainRun(
        settings,
        folder,
        say,
        partial(LiveProgress, console),
        resumes=resume is not None,
        checks_threads=deterministic_check,
    ).go()


def predict(
    run: RunPath,
    data: Annotated[
        str,
        typer.Argument(
            help="Rows to predict: a file, or a built-in set.",
            show_default=False,
            autocompletion=_complete_data,
        ),
    ],
    out: Annotated[Path | None, _option("A CSV file to write.", "standard output")] = None,
    probabilities: Annotated[
        bool, _option("A column for each class.", None, "--probabilities")
    ] = False,
    delimiter: Annotated[str | None, _option("What separates columns.")] = None,
    no_header: Annotated[bool, _option("The first line is data.", None, "--no-header")] = False,
    threads: Annotated[int | None, _option("Threads.", "all")] = None,
) -> None:
    """Predict a column with the best weights of a run. The data need the columns of training."""

    def command() -> None:
        if threads is not None:
            require_setting("threads", threads, "--threads")
        text = predictions(run, data, note, probabilities, delimiter, not no_header, threads, out)
        if out is None:
            put(text)
        else:
            write_text(out, text)
            note(f"{text.count(chr(10)) - 1} predictions in {out}")

    raise typer.Exit(code_of(command))


def inspect(run: RunPath) -> None:
    """Show what is in a run: settings, results, parameters, files."""
    raise typer.Exit(code_of(lambda: say(inspected(run))))


def compare(
    runs: Annotated[
        list[Path], typer.Argument(help="Folders of two runs or more.", show_default=False)
    ],
    out: Annotated[Path, _option("The page to write.", "compare.html")] = Path("compare.html"),
) -> None:
    """Compare runs: a table here, and a page with all their curves."""

    def command() -> None:
        if len(runs) < 2:
            raise UsageFault("compare: given one run; two or more are needed.")
        recorded = read_runs(runs)
        require_page(out)
        require_no_loss(out, [run.settings.data for run in recorded], runs)
        say(aligned(*result_rows(recorded)))
        differing = differing_rows(recorded)
        if differing:
            say(f"\n{aligned(('setting', *map(str, runs)), differing)}")
        write_text(out, comparison_page(recorded))
        say(f"\ncurves: {out}")

    raise typer.Exit(code_of(command))


def doctor() -> None:
    """Look at this machine: versions, CPU, threads, cache, a self-test, and speed."""

    def command() -> ExitCode:
        faults = 0
        for name, result, is_well in examined():
            say(f"{'ok ' if is_well else 'BAD'} {name:<20} {result}")
            faults += not is_well
        say("\nall is well" if not faults else f"\n{faults} of these need attention")
        return ExitCode.CHECK if faults else ExitCode.DONE

    raise typer.Exit(code_of(command))


def launch(
    context: typer.Context,
    script: Annotated[
        Path, typer.Argument(help="A Python script that all ranks run.", show_default=False)
    ],
    ranks: Annotated[int, _option("How many ranks to start.", None, "--ranks", "-n")],
    threads: Annotated[
        int | None, _option("Threads of each rank.", "the CPUs, divided among them")
    ] = None,
) -> None:
    """Run a script on several MPI ranks of this machine; what follows it are its own arguments."""
    raise typer.Exit(code_of(lambda: launched(ranks, script, context.args, threads)))


def _show_version(asked: bool) -> None:
    if asked:
        say(f"wengert {metadata.version('wengert')}")
        raise typer.Exit


def about(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Train small networks on tables, compiled to native code; look at what came of it."""


def make_app() -> typer.Typer:
    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(epilog=EXIT_CODES)(about)
    app.command(cls=TrainCommand, help=TRAIN_HELP, epilog=TRAIN_EXAMPLES)(train)
    app.command(epilog=PREDICT_EXAMPLES)(predict)
    app.command(epilog="Example:\n\nwengert inspect runs/digits-1")(inspect)
    app.command(epilog=COMPARE_EXAMPLES)(compare)
    app.command()(doctor)
    app.command(
        epilog=LAUNCH_EXAMPLES,
        context_settings={"allow_extra_args": True, "allow_interspersed_args": False},
    )(launch)
    return app


def run_app(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code."""
    write_any_letter()
    try:
        make_app()(args=None if arguments is None else list(arguments), prog_name="wengert")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.FAULT
    return ExitCode.DONE
