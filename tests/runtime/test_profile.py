"""Profiles: all kernels of a program, with what they do; the arrays stay as they are."""

import numpy as np
import pytest

import wengert as wg
from wengert.codegen.cost.counts import Cost, kernel_cost, program_cost
from wengert.core.dtypes import float32, float64
from wengert.runtime import profile as profiling
from wengert.runtime.profile import Profile, profile

BRIEF = 0.01  # seconds


@pytest.fixture(autouse=True)
def small_machine(monkeypatch):
    """Measure the machine with little work: no test here depends on how fast it is."""
    monkeypatch.setattr(profiling, "GEMM", 64)
    monkeypatch.setattr(profiling, "SWEEP", 2**12)
    yield
    profiling.gemm_rate.cache_clear()
    profiling.bandwidth.cache_clear()


def profiled(function, *args, **options) -> Profile:
    executable = wg.compile(function, **options).executable(*args)
    return profile(executable, wg.tree.leaves(args), BRIEF)


def normal(*shape, dtype=np.float32):
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def layers(p, x, labels):
    hidden = np.tanh(x @ p["w"] + p["b"])
    return wg.cross_entropy(hidden @ p["v"], labels)


def network():
    p = {"w": normal(6, 20), "b": normal(20), "v": normal(20, 3)}
    return p, normal(9, 6), np.arange(9) % 3


def test_all_kernels_are_there_in_their_order_with_their_costs():
    args = network()
    executable = wg.compile(wg.value_and_grad(layers)).executable(*args)
    found = profile(executable, wg.tree.leaves(args), BRIEF)
    program = executable.program
    assert len(program.order) > 5
    assert [kernel.name for kernel in found.kernels] == [f"k{k}" for k in program.order]
    for kernel, k in zip(found.kernels, program.order, strict=True):
        assert kernel.kind == program.kernels[k].kind
        assert kernel.cost == kernel_cost(program, k, {})
        assert kernel.ops == tuple(program.node(i).op.name for i in program.kernels[k].members)
    assert found.cost == program_cost(program, {})


def test_numbers_fit_together():
    args = network()
    found = profiled(wg.value_and_grad(layers), *args)
    assert found.seconds > 0
    assert found.sum == sum(kernel.seconds for kernel in found.kernels)
    assert sum(kernel.share for kernel in found.kernels) == pytest.approx(1)
    assert found.gemm_rate == profiling.gemm_rate(float32) > 0
    assert found.bandwidth == profiling.bandwidth() > 0
    slow = max(found.kernels, key=lambda kernel: kernel.seconds)
    assert slow.seconds > 0
    assert slow.share == pytest.approx(slow.seconds / found.sum)
    assert slow.flops_per_second == slow.flops / slow.seconds
    assert slow.bytes_per_second == slow.bytes / slow.seconds
    assert slow.share_of_gemm_rate == slow.flops_per_second / found.gemm_rate
    assert slow.share_of_bandwidth == slow.bytes_per_second / found.bandwidth


def test_a_product_and_a_map():
    found = profiled(lambda a, b: a @ b, normal(5, 7), normal(7, 11))
    (kernel,) = found.kernels
    assert (kernel.kind, kernel.ops) == ("gemm", ("matmul",))
    assert kernel.flops == 2 * 5 * 7 * 11
    assert kernel.bytes == 4 * (5 * 7 + 7 * 11 + 5 * 11)

    found = profiled(lambda x: np.exp(x) * x, normal(50, dtype=np.float64))
    (kernel,) = found.kernels
    assert (kernel.kind, kernel.ops) == ("map", ("exp", "multiply"))
    assert kernel.cost == Cost(flops=100, functions=50, read=400, written=400)
    assert kernel.gemm_rate == profiling.gemm_rate(float64)
    assert kernel.line.startswith("test_profile.py:")


def test_the_kernels_are_those_of_a_call():
    args = network()
    executable = wg.compile(wg.value_and_grad(layers)).executable(*args)
    names = [f"k{k}" for k in executable.program.order]
    leaves = wg.tree.leaves(args)
    bench = profiling._Bench(executable.program, executable.layout, {}, leaves, names)
    times, whole = bench.times(BRIEF)
    assert len(times) == len(names)
    assert whole > 0
    expected = wg.tree.leaves(executable(*args))
    for ours, theirs in zip(bench._outputs, expected, strict=True):
        assert ours.tobytes() == theirs.tobytes()


def test_donated_arrays_stay_as_they_are():
    def step(p, x, labels):
        loss, g = wg.value_and_grad(layers)(p, x, labels)
        return loss, {name: p[name] - 0.1 * g[name] for name in p}

    args = network()
    before = [x.copy() for x in wg.tree.leaves(args)]
    found = profiled(step, *args, donate="p", nonfinite="raise")
    for x, y in zip(wg.tree.leaves(args), before, strict=True):
        assert x.tobytes() == y.tobytes()
    check, commit = found.kernels[-2:]
    size = sum(x.nbytes for x in args[0].values())
    assert (check.name, check.cost) == (
        "check_finite",
        Cost(flops=size // 4 + 1, read=size + 4),
    )
    assert (commit.name, commit.cost) == ("commit", Cost(read=size, written=size))


def test_what_kernels_write_over_arguments_is_not_looked_at_again():
    """They are asked themselves: 4 MB in some nanoseconds would be no rate."""
    x = np.ones(1 << 20, np.float32)
    found = profiled(lambda x: (x * 2.0, wg.sum(x)), x, donate="x", nonfinite="raise")
    check = next(each for each in found.kernels if each.name == "check_finite")
    assert check.cost == Cost(flops=1, read=4)


def test_each_run_begins_where_the_first_began():
    """A step that doubles its argument would be infinite after 128 runs."""

    def double(x):
        return x * 2.0

    x = np.full(3, 2.0**100, np.float32)
    executable = wg.compile(double, donate="x", nonfinite="raise").executable(x)
    bench = profiling._Bench(executable.program, executable.layout, {}, [x], ["k0", "commit"])
    for name in ("apart", "whole") * 2:
        bench._run(name)
        assert (bench._inputs[0] == 2.0**102).all()  # once to warm up
    bench.times(BRIEF)
    assert (x == 2.0**100).all()


def test_a_loop_is_one_kernel():
    def walk(a, xs):
        return wg.scan(lambda h, x: (np.tanh(a * h + x), h), wg.zeros(4), xs)[0]

    found = profiled(walk, normal(4, dtype=np.float64), normal(30, 4, dtype=np.float64))
    (loop,) = [kernel for kernel in found.kernels if kernel.kind == "scan"]
    assert loop.ops[0] == "scan"
    assert "tanh" in loop.ops
    assert loop.flops == 30 * 4 * 3


def test_sizes_are_those_of_the_arrays():
    compiled = wg.compile(lambda x: x + 1.0, dims={"x": {0: wg.Dim("n")}})
    executable = compiled.executable(normal(8))
    for count in (3, 8, 100):
        found = profile(executable, [normal(count)], BRIEF)
        assert found.cost == Cost(flops=count, read=4 * count, written=4 * count)


def test_arrays_in_any_order_and_byte_order():
    x = normal(12, 10)[::2, ::-1]
    found = profiled(np.tanh, x)
    assert found.kernels[0].cost == Cost(flops=60, functions=60, read=240, written=240)
    swapped = normal(5).astype(np.dtype(np.float32).newbyteorder())
    assert profiled(np.tanh, swapped).kernels[0].flops == 5


def test_what_a_call_refuses_is_refused():
    x, i = normal(4), np.array([1, 9])
    executable = wg.compile(lambda x, i: wg.take(x, i, axis=0)).executable(x, i)
    with pytest.raises(IndexError, match="take"):
        profile(executable, [x, i], BRIEF)


def test_it_prints_as_a_table():
    found = profiled(lambda a, b: np.tanh(a @ b), normal(5, 7), normal(7, 11))
    head, machine, empty, names, row = repr(found).splitlines()
    assert str(found) == repr(found)
    assert head.startswith("1 kernel: ")
    assert "GF/s" in machine
    assert "GB/s" in machine
    assert empty == ""
    assert names.split()[:4] == ["kernel", "kind", "time", "share"]
    assert row.startswith("k0      gemm  ")
    assert "  825  " in row  # flops: 770 for the product, 55 for tanh
    assert "matmul, tanh  # test_profile.py:" in row
    assert names.index("computes") == row.index("matmul")


def test_what_is_shorter_than_a_reading_of_the_clock_is_seen():
    x = np.ones(1, np.float32)
    found = profiled(lambda x: x + 1.0, x)
    assert found.seconds > 0
    assert [kernel.seconds > 0 for kernel in found.kernels] == [True]


def test_what_is_short_runs_more_often_until_it_is_seen(monkeypatch):
    x = normal(4)
    executable = wg.compile(lambda x: np.exp(x @ x) * x).executable(x)
    names = [f"k{k}" for k in executable.program.order]
    bench = profiling._Bench(executable.program, executable.layout, {}, [x], names)
    takes, read = np.arange(3.0, 3.0 + len(names)), 20.0  # nanoseconds

    def run(name):
        counts = bench._counts[name]
        each = takes if name == "apart" else [takes.sum()]
        return np.array([*(counts * each + read), read])

    monkeypatch.setattr(bench, "_run", run)
    times, whole = bench.times(0.0)
    np.testing.assert_allclose(times, takes * 1e-9)
    np.testing.assert_allclose(whole, takes.sum() * 1e-9)
    assert (bench._counts["apart"] * takes >= profiling.ENOUGH).all()


def test_kernels_that_run_again_find_the_same_operands():
    """tanh writes over the product where memory is that of a call."""
    x = normal(6, 6)
    executable = wg.compile(lambda x: np.tanh(wg.sort(x) * 3.0) @ x).executable(x)
    names = [f"k{k}" for k in executable.program.order]
    bench = profiling._Bench(executable.program, executable.layout, {}, [x], names)
    for counts in bench._counts.values():
        counts[:] = 7
    for name in bench._counts:
        bench._run(name)
        assert bench._outputs[0].tobytes() == executable(x).tobytes()
