"""What the array API standard asks of a namespace beside functions of arrays."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

import wengert as wg
from wengert.errors import DTypeError, TraceError

ALL = ["bool", *wg.__array_namespace_info__().dtypes(kind="numeric")]


def test_dtypes_are_numpys():
    for name in ALL:
        assert np.dtype(getattr(wg, name)) == np.dtype(name)
    assert len(ALL) == 11
    assert (wg.e, wg.pi, wg.inf, wg.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(wg.nan)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_limits_of_floats(name):
    found, theirs = wg.finfo(getattr(wg, name)), np.finfo(name)
    for attribute in ("bits", "eps", "max", "min", "smallest_normal"):
        assert getattr(found, attribute) == getattr(theirs, attribute)
    assert found == wg.finfo(np.zeros(2, name))
    with pytest.raises(DTypeError, match=r"finfo: given int8; .* wg.iinfo"):
        wg.finfo(wg.int8)
    with pytest.raises(DTypeError, match=r"iinfo: given float32; .* wg.finfo"):
        wg.iinfo(wg.float32)
    assert wg.iinfo(wg.uint8).max == 255


def test_kinds_of_dtypes():
    kinds = ["bool", "signed integer", "unsigned integer", "integral", "real floating"]
    for name in ALL:
        for kind in (*kinds, "complex floating", "numeric"):
            assert wg.isdtype(getattr(wg, name), kind) == np.isdtype(np.dtype(name), kind)
    assert wg.isdtype(wg.int8, (wg.float32, "signed integer"))
    assert not wg.isdtype(wg.int8, wg.int16)
    with pytest.raises(ValueError, match=r"isdtype: kind 'float' was given; .*'real floating'"):
        wg.isdtype(wg.int8, "float")


def test_dtypes_that_meet():
    assert wg.result_type(wg.float32, np.zeros(2, np.int8), 1.0) == np.float32
    assert wg.can_cast(wg.int8, wg.int16)
    assert not wg.can_cast(np.zeros(2), wg.float32)
    seen = []
    wg.grad(lambda x: (seen.append(wg.result_type(x, wg.float32)), wg.sum(x))[1])(np.ones(2))
    assert seen == [np.float64]


def test_what_there_is():
    info = wg.__array_namespace_info__()
    assert info.devices() == ["cpu"] == [info.default_device()]
    assert info.default_dtypes() == {
        "real floating": np.float64,
        "integral": np.int64,
        "indexing": np.int64,
    }
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}
    assert info.capabilities()["boolean indexing"] is True
    with pytest.raises(ValueError, match="only device is 'cpu'"):
        info.dtypes(device="gpu")


def test_arrays_of_other_libraries_share_their_memory():
    x = np.arange(4.0)
    shared, copied = wg.from_dlpack(x), wg.from_dlpack(x, copy=True)
    x[0] = 9.0
    assert (shared[0], copied[0]) == (9.0, 0.0)
    with pytest.raises(TypeError, match="from_dlpack: given list"):
        wg.from_dlpack([1.0])
    with pytest.raises(ValueError, match="only device"):
        wg.from_dlpack(x, device="gpu")
    with pytest.raises(TraceError, match="ours already"):
        wg.grad(lambda y: wg.sum(wg.from_dlpack(y)))(x)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "full", "arange", "eye", "linspace"])
def test_arrays_are_made_on_the_cpu(name):
    args = {"full": (3, 1.0), "linspace": (0, 1, 3)}.get(name, (3,))
    make = getattr(wg, name)
    assert np.array_equal(make(*args, device="cpu"), make(*args))
    with pytest.raises(ValueError, match=f"^{name}: device 'cuda' was given"):
        make(*args, device="cuda")
    assert "device" in inspect.signature(make).parameters


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like", "full_like"])
def test_arrays_like_others_are_made_on_the_cpu(name):
    args = (np.ones(2, np.float32), 3.0)[: 1 + (name == "full_like")]
    assert getattr(wg, name)(*args, device="cpu").dtype == np.float32
    with pytest.raises(ValueError, match="only device"):
        getattr(wg, name)(*args, device="tpu")


def test_sums_in_another_dtype():
    x = np.full(100, 100, np.int8)
    assert wg.sum(x, dtype=wg.float32).dtype == np.float32
    assert wg.sum(x, dtype=wg.int8) == np.sum(x, dtype=np.int8)
    assert wg.prod(np.full(3, 0.5, np.float32), dtype=wg.float64).dtype == np.float64
    f = wg.compile(lambda x: wg.sum(x, axis=0, dtype=wg.float64, keepdims=True))
    assert f(np.ones((3, 2), np.float32)).dtype == np.float64
    assert (
        wg.grad(lambda x: wg.sum(x, dtype=wg.float64))(np.ones(2, np.float32)).dtype == np.float32
    )


def test_copies():
    x = np.arange(6.0)
    assert wg.astype(x, wg.float64, copy=False) is x
    assert not np.may_share_memory(wg.astype(x, wg.float64), x)
    assert wg.astype(x, wg.float32, copy=False).dtype == np.float32
    assert np.may_share_memory(wg.reshape(x, (2, 3), copy=False), x)
    assert not np.may_share_memory(wg.reshape(x, (2, 3), copy=True), x)
    with pytest.raises(ValueError, match="cannot be shown so without a copy"):
        wg.reshape(x.reshape(2, 3).T, (6,), copy=False)
    assert wg.asarray(x, copy=False) is x or np.may_share_memory(wg.asarray(x, copy=False), x)
    assert not np.may_share_memory(wg.asarray(x, copy=True), x)
    with pytest.raises(ValueError, match="copy=False was given; list needs a copy"):
        wg.asarray([1.0], copy=False)
    with pytest.raises(ValueError, match="needs a copy"):
        wg.asarray(x, wg.float32, copy=False)
    grad = wg.grad(lambda x: wg.sum(wg.reshape(x, (2, 3), copy=False) ** 2))
    assert np.array_equal(grad(x), 2 * x)


def test_a_sorter():
    x, wanted = np.array([3.0, 1.0, 2.0]), np.array([0.5, 2.5])
    order = np.argsort(x)
    assert np.array_equal(wg.searchsorted(x, wanted, sorter=order), [0, 2])
    f = wg.compile(lambda x, order: wg.searchsorted(x, wanted, side="right", sorter=order))
    assert np.array_equal(f(x, order), [0, 2])


def test_parts_of_complex_numbers_that_there_are_not():
    x = np.array([1.0, -2.0])
    assert np.array_equal(wg.real(x), x)
    assert np.array_equal(wg.imag(x), [0.0, 0.0])
    assert np.array_equal(wg.grad(lambda x: wg.sum(wg.conj(x) * x))(x), 2 * x)


def test_the_different_numbers():
    x = np.array([[2.0, 1.0], [2.0, 5.0]])
    found, theirs = wg.unique_all(x), np.unique_all(x)
    for ours, other in zip(found, theirs, strict=True):
        assert np.array_equal(ours, other)
    assert np.array_equal(found.values[found.inverse_indices], x)
    assert np.array_equal(wg.unique_values(x), [1.0, 2.0, 5.0])
    assert np.array_equal(wg.unique_counts(x).counts, [1, 2, 1])
    assert np.array_equal(wg.unique_inverse(x).inverse_indices, [[1, 0], [1, 2]])
    weights = np.array([1.0, 10.0, 100.0])
    grad = wg.grad(lambda x: wg.sum(np.unique_values(x) * weights))(x)
    assert np.array_equal(grad, [[10.0, 1.0], [0.0, 100.0]])
    with pytest.raises(TraceError, match="unique_all: given a Tensor that is traced"):
        wg.compile(wg.unique_values)(x)


def test_a_tensor_knows_its_namespace():
    seen = []

    def f(x):
        xp = x.__array_namespace__(api_version="2024.12")
        seen.append((xp, x.device, x.to_device("cpu") is x, x.__dlpack_device__()))
        return xp.sum(x)

    wg.grad(f)(np.ones(2))
    assert seen == [(wg, "cpu", True, (1, 0))]
    with pytest.raises(ValueError, match=r"version '1999' was given; there are .*2024\.12"):
        wg.grad(lambda x: x.__array_namespace__(api_version="1999").sum(x))(np.ones(2))
    with pytest.raises(TraceError, match="__dlpack__: called on a Tensor"):
        wg.grad(lambda x: np.from_dlpack(x).sum())(np.ones(2))


def test_diagonals_that_are_far_away():
    for k in (2**63, -(2**70), 5):
        assert np.array_equal(wg.eye(2, 3, k=k), np.zeros((2, 3)))
        assert np.array_equal(
            wg.compile(lambda x, k=k: x + wg.eye(2, 3, k=k))(1.0), np.ones((2, 3))
        )
