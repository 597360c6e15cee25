"""What is said about classes of which there are many, or few."""

import numpy as np

from cli.conftest import write_table


def train_on(command, tmp_path, counts, *flags):
    """Train on noise, of classes with so many rows."""
    rng = np.random.default_rng(0)
    answers = [name for name, count in counts.items() for _ in range(count)]
    rows = [[f"{rng.normal():.3f}", f"{rng.normal():.3f}", answer] for answer in answers]
    write_table(tmp_path / "a.csv", rows, ("p", "q", "y"))
    small = ("--layers", "none", "--epochs", "1", "--threads", "1", "--out", "run")
    code, printed, _ = command("train", "a.csv", *small, *flags)
    assert code == 0
    return printed


def test_the_most_frequent_class_stands_beside_the_result(command, tmp_path):
    printed = train_on(command, tmp_path, {"a": 335, "b": 65}, "--lr", "0.1", "--epochs", "9")
    assert "of the held-out rows are right; always 'a' would be right for 83.75%" in printed
    assert "the model says 'a' for all 80 held-out rows: it tells no classes apart" in printed
    assert "if always &#x27;a&#x27;" in (tmp_path / "run" / "report.html").read_text("utf-8")


def test_classes_that_are_told_apart_are_no_news(command, tmp_path):
    rows = [[f"{i % 2}.{i}", i % 2] for i in range(40)]
    write_table(tmp_path / "a.csv", rows, ("p", "y"))
    small = ("--layers", "none", "--epochs", "9", "--lr", "0.1", "--threads", "1", "--out", "run")
    code, printed, _ = command("train", "a.csv", *small)
    assert code == 0
    assert "100.00% of the held-out rows are right; always '0' would be right for 50.00%" in printed
    assert "tells no classes apart" not in printed
    assert "not judged" not in printed
    assert "too few" not in printed


def test_rare_classes_are_named(command, tmp_path):
    printed = train_on(command, tmp_path, {"a": 40, "b": 1, "c": 2, "d": 30})
    assert "too few to learn: class 'b' has fewer than 2 rows to learn from" in printed
    assert "not judged: classes 'b', 'c' have no rows held out" in printed
