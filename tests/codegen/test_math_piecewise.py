"""Tables and the functions made of them have the same bits whatever instructions a machine has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.codegen.ulp import compiled
from wengert.codegen.llvm.text.tables import PIECES
from wengert.codegen.targets.cpu.target import host

X86 = host().architecture == "x86_64" and host().has("avx2") and host().has("fma")
BASE = "+sse4.2,+avx,+fma"
MACHINES = {
    "this": (host(), 16, None),
    "pieces of 8": (host(), 16, 8),
    "pieces of 4": (host(), 16, 4),
    "one lane": (host(), 1, None),
    **(
        {
            "AVX2": (replace(host(), cpu="x86-64-v3", features=f"{BASE},+avx2"), 16, None),
            "no permutations": (replace(host(), cpu="x86-64", features=BASE), 16, None),
        }
        if X86
        else {}
    ),
}
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3.87, 3.8700001, 3.96, 9.09, 11.6, -11.600001]


@pytest.mark.parametrize("machine", MACHINES)
def test_every_lane_chooses_by_four_bits(machine):
    target, lanes, width = MACHINES[machine]
    numbers = np.arange(PIECES, dtype=np.float32) ** 2 - 0.5
    places = np.random.default_rng(0).integers(0, 2**23, 100, dtype=np.int32)
    run = compiled(
        lambda e, x: e.look_up(numbers.tolist(), x), "f4", lanes=lanes, width=width, target=target
    )
    np.testing.assert_array_equal(run(places.view(np.float32)), numbers[places % PIECES])


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "erf", "erfc"])
def test_functions_have_the_same_bits_on_every_machine(name):
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(0, size, 300) for size in (0.1, 1, 5, 30)] + [EDGES])
    found = {
        machine: compiled(
            lambda e, x: getattr(e, name)(x), "f4", lanes=lanes, width=width, target=target
        )(x).view(np.int32)
        for machine, (target, lanes, width) in MACHINES.items()
    }
    for machine, bits in found.items():
        np.testing.assert_array_equal(bits, found["this"], err_msg=machine)


@pytest.mark.parametrize(("name", "ends"), [("tanh", (-1, 1)), ("erf", (-1, 1)), ("erfc", (2, 0))])
def test_functions_end_where_they_should(name, ends):
    """The last piece is 1 before it ends, not next to 1."""
    x = np.array([-np.inf, -1e30, -10.5, 10.5, 1e30, np.inf], np.float32)
    found = compiled(lambda e, x: getattr(e, name)(x), "f4")(x)
    np.testing.assert_array_equal(found, np.repeat(ends, 3).astype(np.float32))
