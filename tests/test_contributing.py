"""The kernel of CONTRIBUTING.md: put where it says, the op compiles and its test passes."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from codegen.special_harness import run_variants, strided

import wengert as wg
from wengert.codegen.llvm.kernels.registry import SPECIALS
from wengert.core.dtypes import SUPPORTED
from wengert.ops import cumulate

PAGE = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"
SHAPES = [(7,), (0,), (3, 20), (2, 0), (4, 1)]


def blocks() -> list[str]:
    """The blocks of the section: definition, writer, test."""
    section = PAGE.read_text(encoding="utf-8").partition("## Add a kernel")[2].partition("\n## ")[0]
    return re.findall(r"```python no-run\n(.*?)```", section, re.DOTALL)


def test_the_kernel_works():
    """In a process of its own, as the table of ops would keep the new one."""
    subprocess.run([sys.executable, __file__], check=True, cwd=PAGE.parent / "tests")


def follow_the_page() -> None:
    definition, writer, test = blocks()
    defined, written = dict(vars(cumulate)), {"__name__": "run_lengths"}
    exec(definition, defined)
    exec(writer, written)
    SPECIALS.update(written["RUNS"])
    run_lengths = defined["run_lengths"]
    x = np.random.default_rng(0).integers(0, 2, (3, 20)).astype(float)
    np.testing.assert_array_equal(wg.compile(run_lengths)(x), run_lengths(x))
    tested = {"np": np, "op": wg.op, "run_variants": run_variants, "strided": strided}
    body = test[test.index("def test_") :]  # without the marks
    exec(body, tested | written, tested)
    for shape, dtype in itertools.product(SHAPES, SUPPORTED):
        tested["test_numpy_agrees"](shape, dtype)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    follow_the_page()
