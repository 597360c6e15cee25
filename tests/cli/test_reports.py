"""The pages: everything is in them, nothing is loaded, and nothing of a user's becomes HTML."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics
from sklearn.calibration import calibration_curve

from cli.conftest import EVIL
from wengert.cli.report.chart_axes import linear_axis, log_axis
from wengert.cli.report.charts import Chart, ChartSeries, drawn
from wengert.cli.report.error_figures import class_figures
from wengert.cli.report.held_out import confidence_bins, confusion, quantile_bins

VOID = {"meta", "link"}


class Page(HTMLParser):
    """Reads a page: its elements must be closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def require_self_contained(page):
    assert "script" not in page.tags
    for tag, name, value in page.attributes:
        assert not name.startswith("on"), (tag, name)
        if name in ("src", "href", "xlink:href", "action"):
            assert value == "data:,", (tag, name, value)


def test_the_report_of_classes(trained):
    text = (trained[0] / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    require_self_contained(page)
    told = " ".join(page.words)
    assert EVIL in told  # as text
    assert "default-src 'none'" in text
    for part in ("Loss", "Held-out accuracy", "Confusion", "Calibration", "Importance", "layers.0"):
        assert part in told, part
    for part in ("Time per kernel", "gemm", "fingerprint of the last state", "LLVM", "numpy"):
        assert part in told, part
    assert "url(" not in text
    assert "http" not in text.replace("http-equiv", "")
    assert page.tags.count("svg") == 4  # loss, accuracy, calibration, program


def test_the_report_of_numbers(regression):
    page = Page((regression[0] / "report.html").read_text(encoding="utf-8"))
    require_self_contained(page)
    told = " ".join(page.words)
    for part in ("Held-out R²", "Predicted and true", "Residuals", "How large residuals are"):
        assert part in told, part
    assert page.tags.count("svg") == 7


def test_every_number_of_the_confusion_is_there(trained):
    text = (trained[0] / "report.html").read_text(encoding="utf-8")
    table = re.search(r'<table class="heat">(.*?)</table>', text, re.DOTALL)[1]
    counts = [int(x.replace("·", "0")) for x in re.findall(r"<td[^>]*>(.*?)</td>", table)]
    assert len(counts) == 4
    assert sum(counts) == 12  # the rows that were held out


def test_numbers_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    true, said = rng.integers(4, size=200), rng.integers(4, size=200)
    np.testing.assert_array_equal(
        confusion(true, said, 4), sklearn_metrics.confusion_matrix(true, said)
    )
    positive = rng.uniform(0.5, 1, 500)
    right = (rng.uniform(size=500) < positive).astype(int)
    bins, error = confidence_bins(1 - right, np.c_[positive, 1 - positive])
    found, expected = calibration_curve(right, positive, n_bins=10)
    np.testing.assert_allclose(bins.true, found)
    np.testing.assert_allclose(bins.said, expected)
    assert error == pytest.approx(np.average(np.abs(found - expected), weights=bins.rows))
    bins = quantile_bins(2 * positive, positive)
    np.testing.assert_allclose(bins.true, 2 * bins.said)
    assert bins.rows.sum() == 500


AWKWARD = {
    "one point": [3.0],
    "equal": [2.0, 2.0, 2.0],
    "zeros": [0.0, 0.0],
    "NaN": [1.0, np.nan, 2.0],
    "huge": [1e300, -1e300],
    "tiny": [1e-300, 2e-300],
    "no finite one": [np.nan, np.inf],
}


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("values", AWKWARD.values(), ids=AWKWARD)
def test_awkward_numbers_are_drawn(values, log):
    y = np.array(values)
    text = drawn(Chart(EVIL, EVIL, EVIL, [ChartSeries(EVIL, np.arange(len(y)), y)], log=log))
    Page(text)
    assert "nan" not in text
    assert "inf" not in text
    assert "<script" not in text


@pytest.mark.parametrize("scale", [1e-8, 0.3, 1.0, 77.0, 1e9])
def test_ticks_are_round_and_cover_the_numbers(scale):
    values = scale * np.array([0.12, 0.5, 0.97])
    for axis in (linear_axis(values, 0, 100), log_axis(values, 0, 100)):
        assert axis.low <= values.min() * 1.001
        assert axis.high >= values.max() * 0.999
        assert 2 <= len(axis.ticks) <= 12
        places = axis.place(values)
        assert ((places >= 0) & (places <= 100)).all()
        assert (np.diff(places) > 0).all()


def test_many_classes_are_told_as_pairs():
    rng = np.random.default_rng(0)
    true, shares = rng.integers(30, size=300), rng.dirichlet(np.ones(30), 300)
    names = [f"{EVIL} {i}" for i in range(30)]
    text = class_figures(names, true, shares)
    Page(text)
    assert "Most frequent confusions of 30 classes" in text
    counts = confusion(true, shares.argmax(axis=1), 30)
    np.fill_diagonal(counts, 0)
    assert f'<td class="n">{counts.max()}</td>' in text
