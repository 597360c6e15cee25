"""What the tests of the command line share: tables, a way to run commands, and trained runs."""

import csv

import numpy as np
import pytest

from wengert.cli import main
from wengert.cli.report import report_page

EVIL = "<script>alert(1)</script>"
HEAD = (EVIL, "colour", "size", "bought")
SMALL = ("--layers", "8", "--epochs", "3", "--batch-size", "16", "--threads", "1")


def table_rows(count=60):
    """Rows of which `bought` can be learned."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(count):
        number, colour = rng.normal(), str(rng.choice(["red", "green", "blue"]))
        answer = "yes" if number + (colour == "red") > 0.3 else "no"
        rows.append([f"{number:.4f}", colour, f"{rng.uniform(1, 9):.2f}", answer])
    return rows


def write_table(path, rows, head=HEAD, delimiter=","):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(head)
        writer.writerows(rows)
    return str(path)


@pytest.fixture
def command(capsys, monkeypatch, tmp_path):
    """Run a command in an empty folder: its exit code, what it printed, and what it complained."""
    monkeypatch.chdir(tmp_path)
    # Kernels are timed, for half a second, only in the runs that tests share.
    monkeypatch.setattr(report_page, "program_section", lambda *_: "")

    def run(*arguments):
        code = main([str(each) for each in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture(scope="package")
def trained(tmp_path_factory):
    """The folder of a small run, and the file it was trained on."""
    folder = tmp_path_factory.mktemp("trained")
    data = write_table(folder / "shop.csv", table_rows())
    assert main(["train", data, "--target", "bought", *SMALL, "--out", str(folder / "run")]) == 0
    return folder / "run", data


@pytest.fixture(scope="package")
def regression(tmp_path_factory):
    """The folder of a small run that predicts a number."""
    folder = tmp_path_factory.mktemp("numbers")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(80, 3))
    np.save(folder / "sums.npy", np.c_[x, 100 * x.sum(axis=1) + 7])
    data = str(folder / "sums.npy")
    assert main(["train", data, "--target", "3", *SMALL, "--out", str(folder / "run")]) == 0
    return folder / "run", data
