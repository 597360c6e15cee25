"""Same bits: fused or not, for any width of vectors, in any process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import wengert as wg
from compiler import bit_programs
from compiler.running import bits
from wengert.codegen.llvm.machine.native import assembly

BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64])
PROGRAMS = pytest.mark.parametrize("name", list(bit_programs.cases(np.float32)))


def compiled_as(function: Any, args: Any, fuse: str = "1", lanes: str = "") -> Any:
    """An executable made with these settings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WENGERT_FUSE", fuse)
        patch.setenv("WENGERT_LANES", lanes)
        return wg.compile(function).executable(*args)


@BOTH
@PROGRAMS
def test_fused_or_not_and_of_any_width(name, dtype):
    function, args = bit_programs.cases(dtype)[name]
    plain = compiled_as(function, args)
    expected = bits(plain(*args))
    assert bits(plain(*args)) == expected, "the second call gave other bits"
    for fuse, lanes in (("0", ""), ("1", "8"), ("0", "4")):
        executable = compiled_as(function, args, fuse, lanes)
        assert executable.options.fused == (fuse == "1")
        for i, (x, y) in enumerate(zip(bits(executable(*args)), expected, strict=True)):
            assert x == y, f"output {i} has other bits with WENGERT_FUSE={fuse}, LANES={lanes}"


def test_fusion_does_something():
    """Without fusion every op is a kernel; or the test above says nothing."""
    function, args = bit_programs.cases(np.float32)["network"]
    fused, unfused = (compiled_as(function, args, fuse) for fuse in "10")
    assert len(fused.program.kernels) < len(unfused.program.kernels)


@BOTH
@pytest.mark.parametrize("columns", [16, 48, 50, 800, 816])
def test_what_follows_a_product(columns, dtype, monkeypatch):
    """Columns that fill vectors need no masks; blocks and chunks of them do neither."""
    rng = np.random.default_rng(columns)
    x, w, b = (rng.standard_normal(s).astype(dtype) for s in ((2, 40, 5), (5, columns), (columns,)))

    def function(x, w, b):
        return np.tanh(x[0] @ w + b), np.tanh(x[0, 0] @ w + b), np.tanh(x @ w + b)

    args = x, w, b
    expected = bits(compiled_as(function, args, "0")(*args))
    for lanes in ("", "4"):
        assert bits(compiled_as(function, args, lanes=lanes)(*args)) == expected
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    assert bits(wg.compile(function, threads=3)(*args)) == expected


def registers(text: str) -> set[str]:
    """Where the arithmetic on vectors of float32 takes place."""
    return set(re.findall(r"\bv(?:fn?m|add|sub|mul|div)\w*ps\b.*%([xyz]mm)\d+\n", text))


@pytest.mark.parametrize(("lanes", "widest"), [("4", "xmm"), ("8", "ymm"), ("16", "zmm")])
def test_registers(lanes, widest):
    """Vectors of 4, 8 and 16 floats lie in registers of their own kind."""
    if "x86" not in llvm.get_default_triple():
        pytest.skip("the registers of x86")
    if widest == "zmm" and not llvm.get_host_cpu_features().get("avx512f"):
        widest = "ymm"
    x, w = np.ones((40, 30), np.float32), np.ones((30, 20), np.float32)
    executable = compiled_as(lambda x, w: wg.sum(np.tanh(x @ w), axis=0), (x, w), lanes=lanes)
    found = registers(assembly(executable.text))
    assert found == {widest}, f"WENGERT_LANES={lanes} uses {sorted(found)}"


def test_two_processes():
    """Another process, with another seed of hashes, finds the same bits."""
    tests = Path(__file__).parents[1]
    found = []
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-m", "compiler.bit_programs"],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(tests)},
            cwd=tests,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        found.append(run.stdout.strip())
    assert found[0] == found[1]
    assert len(found[0]) == 64
