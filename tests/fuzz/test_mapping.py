"""A few random programs for many examples at once; `mapping.py` runs more of them."""

from __future__ import annotations

import pytest

from .mapped_in_jax import check_op, chosen
from .mapping import check_mapped
from .search import visit


@pytest.mark.filterwarnings("ignore::wengert.errors.WengertWarning")
def test_programs_for_many_examples():
    for number in range(3000, 3030):
        visit(number, check_mapped)


@pytest.mark.filterwarnings("ignore::wengert.errors.WengertWarning")
def test_bits_of_programs_for_many_examples():
    for number in range(4000, 4006):
        visit(number, lambda program: check_mapped(program, compiled=True))


@pytest.mark.parametrize("name", ["sort", "cumsum"])
def test_examples_in_jax(name):
    """`mapped_in_jax.py` has all ops."""
    (op,) = chosen([name])
    check_op(op, compiled=False)
