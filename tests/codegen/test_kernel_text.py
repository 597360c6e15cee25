"""Programs of kernels as text: what a person sees, and that it reads back equal."""

from __future__ import annotations

import re
import textwrap
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from compiler import bit_programs
from compiler.calls_of_ops import Gradients, Values
from fuzz.search import visit
from table.calls import calls
from table.ops import has_samples, of_ops
from train.models import OPTIMIZERS, data, net, squared_error

import wengert as wg
from codegen.explained_programs import PROGRAMS, f32
from codegen.kernel_texts import require_round_trip
from wengert import compiler as wengert_compiler
from wengert.api.trace import trace_with_sizes
from wengert.codegen import stages
from wengert.codegen.kernel import Kernel, Layout, Lowered, Program
from wengert.codegen.kernel_text.kernel_show import show
from wengert.codegen.llvm.module import write_module
from wengert.codegen.options import Options
from wengert.codegen.stages import STAGES
from wengert.passes.pipeline import run


def require_round_trips(graph: Any, options: Options) -> Lowered:
    """After every stage, text gives an equal value; the rest of the stages make the same code of
    what was read only.
    """
    kept: Any = graph
    passed: Any = None
    for stage in STAGES:
        kept = stage(kept, options)
        passed = require_round_trip(kept if passed is None else stage(passed, options))
    made: Lowered = kept
    assert write_module(passed, options).text() == write_module(made, options).text()
    return made


MET: set[tuple[str, str]] = set()  # fields that have had something in them, in the tests below


def note_fields(made: Any) -> None:
    """Note which fields of a value, and of those inside it, are not as they are by default."""
    for each in fields(made):
        value = getattr(made, each.name)
        default = each.default_factory() if callable(each.default_factory) else each.default
        if value != default:
            MET.add((type(made).__name__, each.name))
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Lowered | Program | Kernel | Layout):
                note_fields(part)


# What a person sees


def shown(function: Any, *args: Any, **options: Any) -> str:
    graph, sizes = trace_with_sizes(function, *args)
    text = show(require_round_trips(run(graph), Options(sizes, **options)), lines=False)
    return re.sub(r"(gemm .* scratch \d+): \d+", r"\1: …", text)  # it depends on the machine


def test_the_text_of_a_program():
    def loss(x, w):
        y = np.tanh(x @ w)
        return np.sum(y * y), y.T

    text = shown(loss, f32(5, 3), f32(3, 2))
    assert text == textwrap.dedent(
        """\
        program(%0: float32[5, 3] "x", %1: float32[3, 2] "w") in order {
          k0 gemm [5, 2] reads %0, %1 stores %4, %3 shares %3 scratch 16: … {
            %2: float32[5, 2] = matmul(%0, %1) by k-blocks
            %3: float32[5, 2] = tanh(%2)
            %4: float32[5, 2] = multiply(%3, %3)
          }
          k1 rows [5, 2] along 0, 1 reads %4 stores %5 {
            %5: float32[] = sum(%4, axes=(0, 1), keepdims=False) by lanes
          }
          %6: float32[2, 5] = permute_dims(%3, axes=(1, 0)) as %3 strides (1, 2)
          k2 map [2, 5] reads %3 stores %7 { %7: float32[2, 5] = stop_gradient(%6) }
          words %0: 10, %1: 11, %5: 12, %7: 13, %4: 14, %3: 15, %2: 15
          return %5, %7
        }
        frame() {
          10: input 0, input 1
          12: output 0, output 1
          14: inner in 13 at 0
          15: arena
          16: workspace
          outputs 12, 13
        }"""
    )


def test_the_text_of_a_loop():
    def last(h, w, xs):
        return wg.scan(lambda h, x: (h * w + x, h), h, xs)

    text = shown(last, f32(5), f32(5), f32(7, 5))
    assert text.splitlines()[1:3] + text.splitlines()[9:17] == [
        "  k0 scan reads %1, %0, %2 stores %3.0, %3.1 scratch 20: 20, 21: 20 {",
        "    %3: (float32[5], float32[7, 5]) = scan(%1, %0, %2, body=@body, consts=1, carry=1, "
        "length=7, reverse=False, save=False) {",
        '    program(%0: float32[5] "captured0", %1: float32[5] "x0", %2: float32[5] "x1") '
        "in order {",
        "      k0_a0 map [5] reads %1, %0, %2 stores %4, %5 {",
        "        %3: float32[5] = multiply(%1, %0)",
        "        %4: float32[5] = add(%3, %2)",
        "        %5: float32[5] = stop_gradient(%1)",
        "      }",
        "      words %0: 15, %1: 16, %2: 17, %4: 18, %5: 19",
        "      return %4, %5",
    ]


# That it reads back


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_read_back(name):
    it = PROGRAMS[name]()
    require_round_trip(Lowered(it.program, it.layout))


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("grain", [0, 1])
@pytest.mark.parametrize("name", list(bit_programs.cases(np.float32)))
def test_every_stage_reads_back(name, fused, grain):
    function, args = bit_programs.cases(np.float32)[name]
    graph, sizes = trace_with_sizes(function, *args)
    require_round_trips(run(graph), Options(sizes, fused, grain=grain))


@of_ops(has_samples)
def test_every_op_reads_back(op):
    for dtype, kind in ((np.float64, Values), (np.float32, Gradients)):
        function = kind(calls(op, dtype))
        if function.calls and (kind is Values or op.vjp is not None):
            with np.errstate(all="ignore"):
                graph, sizes = trace_with_sizes(function, *function.arguments())
            require_round_trips(run(graph), Options(sizes))


@pytest.mark.parametrize("chunk", range(4))
def test_random_programs_read_back(chunk):
    def one(program: Any) -> None:
        arguments = program.arguments(program.sizes[0])
        graph, sizes = trace_with_sizes(program.function(), *arguments, dims=program.dims)
        require_round_trips(run(graph), Options(sizes))
        require_round_trips(run(graph), Options(sizes, grain=1))

    for number in range(chunk * 10, chunk * 10 + 10):
        visit(number, one)


def programs_of_a_step(monkeypatch: Any, name: str, threads: int) -> list[tuple[Any, Options]]:
    """The graphs that a training step compiles, and how."""
    met: list[tuple[Any, Options]] = []

    def lower(graph: Any, options: Options, *rest: Any) -> Lowered:
        met.append((graph, options))
        return stages.lower(graph, options, *rest)

    monkeypatch.setattr(wengert_compiler, "lower", lower)
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    x, y = data(rows=48, dtype=np.float32)
    model = net((3, 17, 2), np.float32)
    step = wg.TrainStep(squared_error, model, OPTIMIZERS[name](), clip_norm=1.0, threads=threads)
    step(x, y)
    assert met
    return met


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("threads", [1, 3])
def test_training_steps_read_back(name, threads, monkeypatch):
    for graph, options in programs_of_a_step(monkeypatch, name, threads):
        require_round_trips(graph, options)


def test_what_is_printed_reads_back():
    def looked_at(xs):
        def body(h, x):
            return wg.debug(h + x, name="h  # h: 3"), h

        return wg.scan(body, xs[0], xs)

    assert 'shows "h  # h: 3" float32 rank 1 loops 1' in shown(looked_at, f32(4, 3))


def test_constants_read_back():
    values = np.linspace(0, 1, 100)
    text = shown(
        lambda x: wg.scan(lambda h, x: (h + x * values, values @ x), x[0], x), np.ones((3, 100))
    )
    assert "constant k0_a.%" in text


def looped(x, y, z):
    """Loops that print, arrays in pieces, folds and loops over what does not lie in order."""

    def body(h, t):
        return wg.debug(h * 2 + t, name="h"), h

    last, hs = wg.scan(body, x[0], x)
    joined = wg.concat([wg.sum(y, axis=1), wg.exp(y[:, 0]) * 2])
    turned = wg.scan(lambda h, t: (h + t, h), x[0], np.transpose(z))
    taken = wg.take(x, np.array([5, 1]), axis=0)
    return last, hs, joined, turned, taken, wg.softmax(x), wg.sum(y.T, axis=(0, 1))


def collected(w, h, xs):
    """A loop whose carry is saved, and collected too."""

    def loss(w):
        last, hs = wg.scan(lambda h, x: (wg.tanh(h * w + x),) * 2, h, xs)
        return wg.sum(last) + wg.sum(hs * hs)

    return wg.value_and_grad(loss)(w)


def test_the_text_of_sums_down_rows():
    text = shown(lambda x: (wg.sum(x, axis=0), wg.sum(x, axis=1)), f32(300, 40))
    assert text.partition("frame")[0].rstrip() == textwrap.dedent(
        """\
        program(%0: float32[300, 40] "x") in order {
          k0 rows [300, 40] along 1 down %1 reads %0 stores %1, %2 scratch 13: 960 partial 13 {
            %1: float32[40] = sum(%0, axes=(0,), keepdims=False) by rows
            %2: float32[300] = sum(%0, axes=(1,), keepdims=False) by lanes
          }
          words %0: 10, %1: 11, %2: 12
          return %1, %2
        }"""
    )


def test_every_field_is_met(monkeypatch):
    """A field of the language that no program here fills could be lost without notice."""
    cases = [
        (looped, (f32(7, 5), f32(6, 4), f32(5, 7))),
        (collected, (f32(3), f32(3), f32(7, 3))),
        (lambda x: wg.sum(x * x), (np.ones(1 << 20, np.float32),)),
        (lambda x: (wg.sum(x, axis=0), wg.sum(x, axis=1)), (f32(300, 40),)),
    ]
    for function, args in cases:
        graph, sizes = trace_with_sizes(function, *args)
        note_fields(require_round_trips(run(graph), Options(sizes, grain=1)))
    # What is written over `a` waits for what reads it for `b`.
    graph, sizes = trace_with_sizes(lambda a, b: (a * 2, b + wg.sum(a)), f32(9), f32(7))
    note_fields(require_round_trips(run(graph), Options(sizes, grain=1, written={0: 0, 1: 1})))
    for name in ("momentum", "radam", "lars"):
        for graph, options in programs_of_a_step(monkeypatch, name, 3):
            note_fields(require_round_trips(graph, options))
    language = (Program, Kernel, Layout)
    wanted = {(kind.__name__, each.name) for kind in language for each in fields(kind)}
    assert wanted - MET == set()
