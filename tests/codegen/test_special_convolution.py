"""The kernels of convolutions and windows: NumPy's values and the same bits however they are asked
for.
"""

import numpy as np
import pytest

from wengert.codegen.kernel_text.kernel_show import read
from wengert.codegen.llvm.convolution.convolution_kernel import CONVOLUTION
from wengert.codegen.llvm.kernels.planes import PLANES
from wengert.codegen.targets.cpu.splitting import least_work, work
from wengert.core.table import op

from .special_harness import run_special, run_variants, strided

ONES = (1, 1)


def options(stride=ONES, padding=((0, 0), (0, 0)), dilation=ONES, spread=ONES):
    return {"stride": stride, "padding": padding, "dilation": dilation, "spread": spread}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("x", "w", "params"),
    [
        ((2, 1, 3, 5, 6), (1, 4, 3, 3, 2), options(padding=((1, 1), (0, 1)))),
        ((2, 2, 40, 4, 9), (2, 35, 40, 3, 3), options(padding=((1, 1), (1, 1)))),  # blocks of K
        ((1, 1, 2, 3, 450), (1, 3, 2, 2, 5), options(padding=((0, 1), (4, 0)))),  # long rows
        ((3, 2, 5, 6, 9), (2, 7, 5, 5, 8), options()),  # outputs along the lanes
        ((3, 1, 70, 4, 19), (1, 5, 70, 3, 17), options(padding=((1, 0), (1, 1)))),
        ((2, 1, 3, 9, 8), (1, 2, 3, 3, 2), options((2, 3), ((2, -1), (1, 0)), (2, 1), (1, 2))),
        ((2, 1, 3, 5, 9), (1, 2, 3, 2, 5), options((1, 2), ((0, 0), (1, 1)), (2, 2), (2, 1))),
        ((2, 1, 0, 3, 3), (1, 2, 0, 2, 2), options()),
        ((0, 1, 2, 3, 3), (1, 2, 2, 2, 2), options()),
    ],
)
def test_convolution(x, w, params, dtype):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=x).astype(dtype), rng.normal(size=w).astype(dtype)
    expected = op.convolution.numpy(x, w, **params)
    few = slice(None) if x.size < 2000 else slice(1)
    pairs = list(zip(strided(x), reversed(strided(w)), strict=True))
    for given in pairs[few]:
        (found,) = run_variants(CONVOLUTION["convolution"], op.convolution, given, params)
        tolerance = 1e-4 if dtype == np.float32 else 1e-11
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("chunks", [2, 3, 5])
@pytest.mark.parametrize(
    ("x", "w"),
    [
        ((1, 1, 4, 6, 9), (1, 83, 4, 5, 8)),  # one image: its outputs are divided, unevenly
        ((3, 1, 5, 6, 9), (1, 40, 5, 5, 8)),  # chunks begin in the middle of a part
        ((2, 2, 3, 6, 9), (2, 33, 3, 5, 8)),  # parts of each group
        ((2, 2, 3, 6, 9), (2, 33, 3, 3, 3)),  # positions along the lanes: images are divided
    ],
)
def test_convolution_in_chunks(x, w, chunks):
    rng = np.random.default_rng(0)
    given = [rng.normal(size=shape).astype(np.float32) for shape in (x, w)]
    kernel = CONVOLUTION["convolution"]
    (whole,) = run_special(kernel, op.convolution, given, options())
    (found,) = run_special(kernel, op.convolution, given, options(), chunks=chunks)
    assert found.tobytes() == whole.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint64])
@pytest.mark.parametrize(
    ("shape", "window", "padding"),
    [
        ((3, 6, 8), (2, 2), ((0, 0), (0, 0))),
        ((2, 5, 4), (3, 2), ((1, 1), (0, 1))),
        ((0, 4), (2,), ((0, 0),)),
    ],
)
def test_planes(shape, window, padding, dtype):
    x = np.random.default_rng(0).integers(0, 5, shape).astype(dtype)
    if x.dtype.kind == "f" and x.size:
        x.flat[::7] = np.nan
        x.flat[3] = -np.inf
    axes = len(window)
    params = {"window": window, "stride": window, "padding": padding, "dilation": (1,) * axes}
    places = op.largest_positions.numpy(x, **params)
    for given in strided(x):
        kernel = PLANES["largest_positions"]
        (found,) = run_variants(kernel, op.largest_positions, [given], params)
        np.testing.assert_array_equal(found, places)
        taken = op.take_from_planes.numpy(x, places)
        (found,) = run_variants(
            PLANES["take_from_planes"], op.take_from_planes, [given, places], {}
        )
        np.testing.assert_array_equal(found, taken)
    for given, at in zip(strided(taken), reversed(strided(places)), strict=True):
        params = {"shape": shape[1:]}
        (found,) = run_variants(PLANES["put_in_planes"], op.put_in_planes, [given, at], params)
        np.testing.assert_array_equal(found, op.put_in_planes.numpy(taken, places, **params))


def test_chunks_are_large_enough_to_copy_the_window_for():
    """A chunk begins by copying w: with few positions it holds more images."""

    def least(size, window):
        x, w = f"float32[64, 1, 8, {size}, {size}]", f"float32[1, 16, 8, {window}, {window}]"
        count = size - window + 1
        y = f"float32[64, 1, 16, {count}, {count}]"
        program = read(
            f"""program(%0: {x} "x", %1: {w} "w") {{
              k0 special [64, 1, 16, {count}, {count}] reads %0, %1 stores %2 split 0 {{
                %2: {y} = convolution(%0, %1, stride=(1, 1), padding=((0, 0), (0, 0)),
                  dilation=(1, 1), spread=(1, 1))
              }}
              return %2
            }}"""
        )
        return round(64 * least_work(program, 0, {}) / work(program, 0, {}))

    assert least(34, 3) == 1
    assert least(10, 3) == 5
    assert least(12, 10) == 11  # outputs along the lanes
