"""wengert doctor: what this machine offers, and whether compiled code is right on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wengert.cli.looking.setup_facts import cpu_features, versions
from wengert.codegen.targets.cpu.target import host
from wengert.core.dtypes import float32, float64
from wengert.core.table import op
from wengert.errors import WengertError
from wengert.nn.perceptron.mlp import Mlp
from wengert.optim.adam import Adam
from wengert.runtime.caching.cache import open_store
from wengert.runtime.caching.cache_store import Missed
from wengert.runtime.profile import bandwidth, gemm_rate
from wengert.runtime.workers import default_threads
from wengert.train.ranked.ranks import ALONE
from wengert.train.step import TrainStep

Line = tuple[str, str, bool]  # what was looked at, what it is, whether that is well


def examined() -> Iterator[Line]:
    """The lines of the report, each as soon as it is known."""
    for name, version in versions().items():
        if name not in ("CPU", "threads", "system"):
            yield name, version, version != "not installed"
    target = host()
    yield "CPU", f"{target.cpu}, {target.architecture}", True
    yield "features", ", ".join(cpu_features()), True
    has_fma = target.has("fma") or target.architecture == "aarch64"
    yield "fused multiply-add", "yes" if has_fma else "no: bits differ from other machines", has_fma
    yield "vectors", f"{8 * target.register_bytes} bits, {target.registers} registers", True
    yield "threads", f"{default_threads()} of {os.cpu_count()} CPUs", True
    yield _cache()
    yield from _tests()
    yield "gemm, float32", f"{gemm_rate(float32) / 1e9:.1f} GFLOP/s on one thread", True
    yield "gemm, float64", f"{gemm_rate(float64) / 1e9:.1f} GFLOP/s on one thread", True
    yield "memory", f"{bandwidth() / 1e9:.1f} GB/s", True


def _cache() -> Line:
    try:
        folder = Path(open_store().folder)
    except Missed as why:
        return "cache", str(why), str(why).startswith("off: WENGERT_CACHE")
    files = list(folder.iterdir()) if folder.is_dir() else []
    size = sum(each.stat().st_size for each in files if each.is_file())
    return "cache", f"{folder}: {len(files)} entries, {size / 1e6:.1f} MB", True


def _tests() -> Iterator[Line]:
    yield _tried("self-test: gradient", _check_step)
    yield _tried("self-test: threads", _check_bits)


def _tried(name: str, test: Callable[[], str]) -> Line:
    try:
        return name, test(), True
    except (AssertionError, WengertError, OSError, RuntimeError) as error:
        return name, f"{type(error).__name__}: {error}", False


def _loss(model: Any, x: Any, y: Any) -> Any:
    return op.mse(model(x), y)


def _step(threads: int) -> tuple[TrainStep, Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 8)).astype(np.float32)
    y = np.sin(x[:, :1])
    model = Mlp((8, 32, 1), seed=0)
    return TrainStep(_loss, model, Adam(1e-2), threads=threads, ranks=ALONE), x, y


def _check_step() -> str:
    """Compiled code against NumPy and against differences of the loss."""
    step, x, y = _step(1)
    check = step.check(x, y)
    return f"compiled code agrees with differences of the loss (error {check.gradient_error:.1e})"


def _check_bits() -> str:
    prints = set()
    for threads in (1, 2):
        step, x, y = _step(threads)
        step.run(x, y, batch_size=16, epochs=3, shuffle_seed=0)
        prints.add(step.fingerprint())
    assert len(prints) == 1, "other bits on 2 threads than on 1"
    return f"the same bits on 1 and 2 threads ({prints.pop()[:12]}…)"
