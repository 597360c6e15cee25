"""Tables of other libraries that a recorded function reads from outside."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import wengert as wg
from wengert.errors import CaptureWarning

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

SERIES = pd.Series([1.0, 2.0, 3.0])
FRAME = pd.DataFrame({"a": SERIES})
POLARS = pl.DataFrame({"a": [1.0, 2.0, 3.0]})
DATA = SimpleNamespace(frame=FRAME)

READ = {
    "'SERIES', a Series": lambda w: w * float(SERIES.mean()),
    "'FRAME', a DataFrame": lambda w: wg.sum(w * FRAME["a"].to_numpy(copy=True)),
    "'POLARS', a DataFrame": lambda w: wg.sum(w * POLARS["a"].to_numpy()),
    r"'DATA\.frame', a DataFrame": lambda w: wg.sum(w * DATA.frame.to_numpy(copy=True)),
}


@pytest.mark.parametrize("name", READ)
def test_a_table_from_outside_is_named(name):
    with pytest.warns(CaptureWarning, match=rf"reads {name}, from outside.*to_numpy") as found:
        wg.compile(READ[name])(2.0)
    assert [each.filename for each in found] == [__file__]


def test_a_step_names_it_too():
    loss = lambda w, x: wg.sum((w - float(SERIES.mean())) * x)  # noqa: E731
    with pytest.warns(CaptureWarning, match="'SERIES', a Series"):
        wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.1))(np.ones(2))


@pytest.mark.filterwarnings("error")
def test_arrays_of_a_table_are_arguments():
    assert wg.compile(lambda w, a: wg.sum(w * a))(2.0, FRAME["a"].to_numpy()) == 12.0
