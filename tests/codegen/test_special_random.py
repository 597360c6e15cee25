"""Random bits and keys against NumPy, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from table.calls import calls

from codegen.special_harness import run_special, run_variants
from wengert.codegen.llvm.kernels.random_bits import RANDOM
from wengert.core.dtypes import INTEGERS, uint32, uint64
from wengert.core.table import op

KEY = np.array([0xFFFFFFF7, 0x9E3779B9], np.uint32)


def check(name: str, operands: list[Any], params: dict[str, Any]) -> None:
    (found,) = run_variants(RANDOM[name], op[name], operands, params)
    wanted = op[name].numpy(*operands, **params)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", sorted(RANDOM))
def test_samples(name: str) -> None:
    for call in calls(op[name]):
        operands, params = op[name].read(call.operands, call.params)
        check(name, [np.asarray(x) for x in operands], params)


@pytest.mark.parametrize("dtype", [uint32, uint64])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (63,), (64,), (65,), (7, 0), (3, 5, 17), (400,)])
def test_bits(shape: tuple[int, ...], dtype: Any) -> None:
    check("random_bits", [KEY], {"shape": shape, "dtype": dtype, "stream": 2**32 - 1})


def test_a_key_with_strides() -> None:
    params = {"shape": (70,), "dtype": uint32, "stream": 0}
    check("random_bits", [np.repeat(KEY, 3)[::-3]], params)
    check("fold_in", [np.broadcast_to(KEY[:1], (2,)), np.array(5)], {})


@pytest.mark.parametrize("dtype", INTEGERS)
def test_numbers_of_every_dtype(dtype: Any) -> None:
    limits = np.iinfo(dtype)
    for number in (limits.min, 0, 77, limits.max):
        operands = [KEY, np.array(number, dtype)]
        (found,) = run_special(RANDOM["fold_in"], op.fold_in, operands, {})
        np.testing.assert_array_equal(found, op.fold_in.numpy(*operands))
