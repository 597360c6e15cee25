"""Products of matrices, written to an array that is there already where a library can do that."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import case as it
from benchmarks.case import OURS, Case, Run, Times
from benchmarks.networks import NETWORKS
from benchmarks.peers import jitted_into, torch_library, torch_tensors

SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048)
TURNED = (64, 512, 1024)  # sizes that are also measured with operands transposed
WAYS = {"": (False, False), "NT": (False, True), "TN": (True, False), "TT": (True, True)}
THIN = ((1, 64, 64), (1, 1024, 1024), (1024, 1024, 1), (64, 64, 1))  # rows, inner, columns
SMALL = 256  # below this mean size calls count for more

Shape = tuple[int, int, int]


def operands(shape: Shape, turned: tuple[bool, bool]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both operands as they lie in memory, and room for the product."""
    m, k, n = shape
    rng = np.random.default_rng(0)
    a = rng.standard_normal((k, m) if turned[0] else (m, k)).astype(np.float32)
    b = rng.standard_normal((n, k) if turned[1] else (k, n)).astype(np.float32)
    return a, b, np.empty((m, n), np.float32)


def product(turned: tuple[bool, bool], a: Any, b: Any) -> Any:
    return (a.T if turned[0] else a) @ (b.T if turned[1] else b)


def ours(shape: Shape, turned: tuple[bool, bool]) -> Run:
    import wengert as wg

    a, b, out = operands(shape, turned)
    compiled = wg.compile(lambda a, b, out: product(turned, a, b), donate="out")
    return lambda: compiled(a, b, out)


def with_numpy(shape: Shape, turned: tuple[bool, bool]) -> Run:
    a, b, out = operands(shape, turned)
    a, b = a.T if turned[0] else a, b.T if turned[1] else b
    return lambda: np.matmul(a, b, out=out)


def with_torch(shape: Shape, turned: tuple[bool, bool]) -> Run:
    torch = torch_library()
    a, b, out = torch_tensors(operands(shape, turned))
    a, b = a.t() if turned[0] else a, b.t() if turned[1] else b
    return lambda: torch.mm(a, b, out=out)


def with_jax(shape: Shape, turned: tuple[bool, bool]) -> Run:
    a, b, _ = operands(shape, turned)
    return jitted_into(partial(product, turned), a, b)


def product_case(shape: Shape, way: str = "", threads: int = 2, disturbed: bool = False) -> Case:
    turned = WAYS[way]
    m, k, n = shape
    size = f"{m}" if m == k == n else f"{m} × {k} × {n}"
    name = f"gemm {size}{f' {way}' if way else ''}{', one thread' if threads == 1 else ''}"
    limit = 1.1 if m * k * n < SMALL**3 else 0.97
    makers = {
        OURS: it.ours(partial(ours, shape, turned)),
        "NumPy": it.numpy(partial(with_numpy, shape, turned)),
        "torch": it.torch(partial(with_torch, shape, turned)),
        "JAX jit": it.jax(partial(with_jax, shape, turned)),
    }
    if threads > 1 and (disturbed or limit > 1):
        for label in ("NumPy", "torch"):
            makers[f"{label} one thread"] = it.one_thread(makers[label])
    measures = f"product of {m} × {k} and {k} × {n} matrices, float32"
    measures += f", operands {way} (T: transposed)" if way else ""
    goals = (Times(limit),)
    return Case(name, measures, makers, goals, threads=threads, disturbed=disturbed)


def shapes_of_steps() -> Iterator[tuple[Shape, str]]:
    """Forward (inputs by weights), and of one network also both products backward."""
    seen = set()
    for name, network in NETWORKS.items():
        for i, o in zip(network.sizes, network.sizes[1:], strict=False):
            batch = network.batch
            shapes = [((batch, i, o), "")]
            if name == "mnist":
                shapes += [((i, batch, o), "TN"), ((batch, o, i), "NT")]
            for each in shapes:
                if each not in seen:
                    seen.add(each)
                    yield each


CASES = (
    *(product_case((n, n, n), disturbed=n in (64, 1024)) for n in SIZES),
    *(product_case((n, n, n), threads=1) for n in SIZES),
    *(product_case((n, n, n), way) for n in TURNED for way in ("NT", "TN", "TT")),
    *(product_case(shape, way) for shape, way in shapes_of_steps()),
    *(product_case(shape) for shape in THIN),
    *(product_case(shape, threads=1) for shape in THIN),
)
