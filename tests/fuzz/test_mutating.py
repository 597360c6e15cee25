"""Some hundreds of mutants of graph texts, in processes of their own."""

from __future__ import annotations

import pytest

from wengert.core.table import op

from .mutating import Wrong, judge, run_process

CHUNKS, SIZE = 4, 150


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_mutants(chunk: int) -> None:
    assert run_process(chunk * SIZE, SIZE) == []


TEXT = """graph(%0: float64[3, 3] "a", %1: float64[3, 2] "b") {
  %2: float64[3, 2] = triangular_solve(%0, %1, lower=True, trans=False)
  return %2
}"""


def test_what_passes_the_check_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge(TEXT) == "right"
    wrong = TEXT.replace("lower=True", "lower=None")
    assert judge(wrong) == "refused"
    monkeypatch.setattr(
        op.triangular_solve,
        "canonical",
        lambda a, b, lower, trans: {"lower": lower, "trans": trans},
    )
    with pytest.raises(Wrong, match="compiled gives"):
        judge(wrong)
