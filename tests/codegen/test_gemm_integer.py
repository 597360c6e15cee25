"""Matrix products of integers and bools."""

from itertools import product as pairs

import numpy as np
import pytest

from tests.codegen.gemm_harness import LAYOUTS, product
from wengert.core.dtypes import INTEGERS, bool_


@pytest.mark.parametrize("dtype", [*INTEGERS, bool_], ids=str)
def test_products_are_numpys(dtype):
    draw = np.random.default_rng(3)
    for m, n, k in [(1, 1, 0), (3, 2, 5), (17, 33, 20), (5, 1, 300), (1, 40, 7)]:
        whole = draw.integers(-(2**62), 2**62, (m + n, k))
        whole = whole % 7 == 0 if dtype == bool_ else whole.astype(dtype)
        a, b = whole[:m], whole[m:].T
        expected = a @ b  # wraps
        for left, right in pairs(LAYOUTS, LAYOUTS):
            found = product(left(a), right(b), 8)
            assert found.dtype == dtype
            assert np.array_equal(found, expected), (m, n, k, left, right)


def test_finish_is_called_for_all_of_c():
    calls = []
    a = np.arange(6, dtype="i4").reshape(2, 3)
    product(a, a.T, finish=lambda _, block: calls.append(block))
    assert calls == [(0, 2, 0, 2)]
