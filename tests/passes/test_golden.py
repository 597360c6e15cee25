"""What each pass makes of a small graph, as text."""

from __future__ import annotations

import textwrap

import pytest

from wengert.core.check import check
from wengert.core.text.show import read, show
from wengert.interpret.trace import node_type
from wengert.passes.cse import cse
from wengert.passes.dce import dce
from wengert.passes.expand import expand
from wengert.passes.fold import LIMIT, fold
from wengert.passes.pipeline import run
from wengert.passes.simplify import simplify
from wengert.passes.turned_products import turn_products

CASES = {
    "turn_products: products of batches and transposes that others read": (
        turn_products,
        """
        graph(%0: float32[5, 2, 3] "x", %1: float32[3, 4] "y") {
          %2: float32[5, 2, 4] = matmul(%0, %1)                     # model.py:3
          %3: float32[5, 4, 2] = matrix_transpose(%2)               # model.py:3
          %4: float32[5, 2, 4] = matmul(%0, %1)                     # model.py:4
          %5: float32[5, 4, 2] = matrix_transpose(%4)               # model.py:4
          return %3, %4, %5
        }""",
        """
        graph(%0: float32[5, 2, 3] "x", %1: float32[3, 4] "y") {
          %2: float32[5, 2, 4] = matmul(%0, %1)                     # model.py:3
          %3: float32[5, 3, 2] = permute_dims(%0, axes=(0, 2, 1))   # model.py:3
          %4: float32[4, 3] = permute_dims(%1, axes=(1, 0))         # model.py:3
          %5: float32[5, 4, 2] = matmul(%4, %3)                     # model.py:3
          %6: float32[5, 2, 4] = matmul(%0, %1)                     # model.py:4
          %7: float32[5, 4, 2] = matrix_transpose(%6)               # model.py:4
          return %5, %6, %7
        }""",
    ),
    "expand: a composite, on an open size": (
        expand,
        """
        graph(%0: float32[n, 4] "x") {
          %1: float32[n, 4] = softmax(%0, axis=1)                   # model.py:3
          return %1
        }""",
        """
        graph(%0: float32[n, 4] "x") {
          %1: float32[n, 1] = max(%0, axes=(1,), keepdims=True)     # model.py:3
          %2: float32[n, 1] = stop_gradient(%1)                     # model.py:3
          %3: float32[n, 4] = broadcast_to(%2, shape=(n, 4))        # model.py:3
          %4: float32[n, 4] = subtract(%0, %3)                      # model.py:3
          %5: float32[n, 4] = exp(%4)                               # model.py:3
          %6: float32[n, 1] = sum(%5, axes=(1,), keepdims=True)     # model.py:3
          %7: float32[n, 4] = broadcast_to(%6, shape=(n, 4))        # model.py:3
          %8: float32[n, 4] = divide(%5, %7)                        # model.py:3
          return %8
        }""",
    ),
    "expand: a missing operand, and the body of a region": (
        expand,
        """
        graph(%0: float32[3] "x") {
          %1: float32[] = constant(1.0)
          %2: float32[3] = clip(%0, _, %1)                          # model.py:3
          %3: (float32[3],) = region(%2, body=@body) {              # model.py:4
            body = graph(%0: float32[3] "x0") {
              %1: float32[3] = softsign(%0)                         # model.py:5
              return %1
            }
          }
          %4: float32[3] = pick(%3, index=0)                        # model.py:4
          return %4
        }""",
        """
        graph(%0: float32[3] "x") {
          %1: float32[] = constant(1.0)
          %2: float32[3] = broadcast_to(%1, shape=(3,))             # model.py:3
          %3: float32[3] = clip(%0, _, %2)                          # model.py:3
          %4: (float32[3],) = region(%3, body=@body) {              # model.py:4
            body = graph(%0: float32[3] "x0") {
              %1: float32[3] = abs(%0)                              # model.py:5
              %2: float32[] = constant(1.0)                         # model.py:5
              %3: float32[3] = broadcast_to(%2, shape=(3,))         # model.py:5
              %4: float32[3] = add(%3, %1)                          # model.py:5
              %5: float32[3] = divide(%0, %4)                       # model.py:5
              return %5
            }
          }
          %5: float32[3] = pick(%4, index=0)                        # model.py:4
          return %5
        }""",
    ),
    "expand: repeated numbers": (
        expand,
        """
        graph(%0: float32[n, 2] "x") {
          %1: float32[n, 2] = full(shape=(n, 2), fill_value=-0.0, dtype=float32)
          %2: int64[] = full(shape=(), fill_value=3, dtype=int64)
          %3: float32[n] = full(shape=(n,), fill_value=n, dtype=float32)
          return %1, %2, %3
        }""",
        """
        graph(%0: float32[n, 2] "x") {
          %1: float32[] = constant(-0.0)
          %2: float32[n, 2] = broadcast_to(%1, shape=(n, 2))
          %3: int64[] = constant(3)
          %4: float32[] = size(dim=n, dtype=float32)
          %5: float32[n] = broadcast_to(%4, shape=(n,))
          return %2, %3, %5
        }""",
    ),
    "fold: a repeated number stays one, also where a size is open": (
        fold,
        """
        graph(%0: float32[n] "x") {
          %1: float32[] = constant(2.0)
          %2: float32[n] = broadcast_to(%1, shape=(n,))
          %3: float32[n] = multiply(%2, %2)                         # model.py:4
          %4: float32[n] = add(%0, %3)                              # model.py:5
          return %4
        }""",
        """
        graph(%0: float32[n] "x") {
          %1: float32[] = constant(2.0)
          %2: float32[n] = broadcast_to(%1, shape=(n,))
          %3: float32[] = constant(4.0)                             # model.py:4
          %4: float32[n] = broadcast_to(%3, shape=(n,))             # model.py:4
          %5: float32[n] = add(%0, %4)                              # model.py:5
          return %5
        }""",
    ),
    "fold: arrays, a broadcast one too; a repeated result is one number": (
        fold,
        """
        graph() {
          %0: int64[2] = constant([1, 2])
          %1: int64[2, 2] = broadcast_to(%0, shape=(2, 2))
          %2: int64[2, 2] = matrix_transpose(%1)
          %3: int64[2, 2] = subtract(%1, %1)
          return %2, %3
        }""",
        """
        graph() {
          %0: int64[2] = constant([1, 2])
          %1: int64[2, 2] = broadcast_to(%0, shape=(2, 2))
          %2: int64[2, 2] = constant([[1, 1], [2, 2]])
          %3: int64[] = constant(0)
          %4: int64[2, 2] = broadcast_to(%3, shape=(2, 2))
          return %2, %4
        }""",
    ),
    "fold: invalid operations are left to run time": (
        fold,
        """
        graph() {
          %0: float32[] = constant(0.0)
          %1: float32[] = divide(%0, %0)
          %2: float32[] = constant(nan)
          %3: int64[] = astype(%2, dtype=int64)
          %4: float32[] = add(%2, %0)
          return %1, %3, %4
        }""",
        """
        graph() {
          %0: float32[] = constant(0.0)
          %1: float32[] = divide(%0, %0)
          %2: float32[] = constant(nan)
          %3: int64[] = constant(0)
          %4: float32[] = constant(nan)
          return %1, %3, %4
        }""",
    ),
    "fold: nothing large": (
        fold,
        f"""
        graph() {{
          %0: float32[2] = constant([1.0, 2.0])
          %1: float32[{LIMIT}, 2] = broadcast_to(%0, shape=({LIMIT}, 2))
          %2: float32[{LIMIT}, 2] = add(%1, %1)
          return %2
        }}""",
        None,
    ),
    "fold: a branch that is known": (
        fold,
        """
        graph(%0: float32[3] "x") {
          %1: float32[] = constant(2.0)
          %2: bool[] = equal(%1, %1)                                # model.py:2
          %3: (float32[3],) = cond(%2, %0, then=@then, orelse=@orelse) {
            then = graph(%0: float32[3] "x0") {
              %1: float32[3] = exp(%0)                              # model.py:4
              return %1
            }
            orelse = graph(%0: float32[3] "x0") {
              return %0
            }
          }
          %4: float32[3] = pick(%3, index=0)
          return %4
        }""",
        """
        graph(%0: float32[3] "x") {
          %1: float32[] = constant(2.0)
          %2: bool[] = constant(True)                               # model.py:2
          %3: float32[3] = exp(%0)                                  # model.py:4
          return %3
        }""",
    ),
    "simplify: what looks neutral and is not": (
        simplify,
        """
        graph(%0: float32[3] "x") {
          %1: float32[] = constant(0.0)
          %2: float32[] = constant(-0.0)
          %3: float32[3] = add(%0, %1)
          %4: float32[3] = subtract(%0, %2)
          %5: float32[3] = multiply(%0, %1)
          %6: float32[3] = subtract(%0, %0)
          %7: float32[3] = divide(%0, %0)
          return %3, %4, %5, %6, %7
        }""",
        None,
    ),
    "simplify: rules after each other, in both orders of operands": (
        simplify,
        """
        graph(%0: float32[2, 1, 3] "x", %1: float32[2, 3] "y") {
          %2: float32[] = constant(-1.0)
          %3: float32[2, 3, 1] = permute_dims(%0, axes=(0, 2, 1))   # model.py:3
          %4: float32[2, 3] = reshape(%3, shape=(2, 3))             # model.py:4
          %5: float32[2, 3] = multiply(%2, %4)                      # model.py:5
          %6: float32[2, 3] = add(%5, %1)                           # model.py:6
          return %6
        }""",
        """
        graph(%0: float32[2, 1, 3] "x", %1: float32[2, 3] "y") {
          %2: float32[] = constant(-1.0)
          %3: float32[2, 3, 1] = reshape(%0, shape=(2, 3, 1))       # model.py:3
          %4: float32[2, 3] = reshape(%0, shape=(2, 3))             # model.py:4
          %5: float32[2, 3] = negative(%4)                          # model.py:5
          %6: float32[2, 3] = subtract(%1, %4)                      # model.py:6
          return %6
        }""",
    ),
    "simplify: a quotient by a power of two": (
        simplify,
        """
        graph(%0: float32[n] "x") {
          %1: float32[] = constant(8.0)
          %2: float32[n] = broadcast_to(%1, shape=(n,))
          %3: float32[n] = divide(%0, %2)                           # model.py:3
          return %3
        }""",
        """
        graph(%0: float32[n] "x") {
          %1: float32[] = constant(8.0)
          %2: float32[n] = broadcast_to(%1, shape=(n,))
          %3: float32[] = constant(0.125)                           # model.py:3
          %4: float32[n] = broadcast_to(%3, shape=(n,))             # model.py:3
          %5: float32[n] = multiply(%0, %4)                         # model.py:3
          return %5
        }""",
    ),
    "cse: by bits, by dtype, and never two inputs": (
        cse,
        """
        graph(%0: float32[3] "", %1: float32[3] "") {
          %2: float32[] = constant(0.0)                             # model.py:2
          %3: float32[] = constant(-0.0)
          %4: float64[] = constant(0.0)
          %5: float32[] = constant(0.0)
          %6: float32[3] = pad(%0, pad_width=((0, 0),), constant_values=0.0)
          %7: float32[3] = pad(%0, pad_width=((0, 0),), constant_values=-0.0)
          %8: float32[3] = maximum(%0, %1)
          %9: float32[3] = maximum(%1, %0)
          return %2, %3, %4, %5, %6, %7, %8, %9
        }""",
        """
        graph(%0: float32[3] "", %1: float32[3] "") {
          %2: float32[] = constant(0.0)                             # model.py:2
          %3: float32[] = constant(-0.0)
          %4: float64[] = constant(0.0)
          %5: float32[3] = pad(%0, pad_width=((0, 0),), constant_values=0.0)
          %6: float32[3] = pad(%0, pad_width=((0, 0),), constant_values=-0.0)
          %7: float32[3] = maximum(%0, %1)
          %8: float32[3] = maximum(%1, %0)
          return %2, %3, %4, %2, %5, %6, %7, %8
        }""",
    ),
    "cse: within a region, and two equal ones, but not with what is around": (
        cse,
        """
        graph(%0: float32[3] "x") {
          %1: float32[3] = exp(%0)
          %2: (float32[3],) = region(%0, body=@body) {
            body = graph(%0: float32[3] "x0") {
              %1: float32[3] = exp(%0)
              %2: float32[3] = exp(%0)
              %3: float32[3] = add(%1, %2)
              return %3
            }
          }
          %3: float32[3] = pick(%2, index=0)
          %4: (float32[3],) = region(%0, body=@body) {
            body = graph(%0: float32[3] "x0") {
              %1: float32[3] = exp(%0)
              %2: float32[3] = add(%1, %1)
              return %2
            }
          }
          %5: float32[3] = pick(%4, index=0)
          return %1, %3, %5
        }""",
        """
        graph(%0: float32[3] "x") {
          %1: float32[3] = exp(%0)
          %2: (float32[3],) = region(%0, body=@body) {
            body = graph(%0: float32[3] "x0") {
              %1: float32[3] = exp(%0)
              %2: float32[3] = add(%1, %1)
              return %2
            }
          }
          %3: float32[3] = pick(%2, index=0)
          return %1, %3, %3
        }""",
    ),
    "cse: a fold with and without the axes it folds": (
        cse,
        """
        graph(%0: float32[n, 2] "x") {
          %1: float32[n] = sum(%0, axes=(1,), keepdims=False)       # model.py:2
          %2: float32[n, 1] = sum(%0, axes=(1,), keepdims=True)     # model.py:3
          %3: float32[n, 1] = reshape(%1, shape=(n, 1))             # model.py:4
          %4: float32[1, 2] = sum(%0, axes=(0,), keepdims=True)     # model.py:5
          return %1, %2, %3, %4
        }""",
        """
        graph(%0: float32[n, 2] "x") {
          %1: float32[n] = sum(%0, axes=(1,), keepdims=False)       # model.py:2
          %2: float32[n, 1] = reshape(%1, shape=(n, 1))             # model.py:3
          %3: float32[1, 2] = sum(%0, axes=(0,), keepdims=True)     # model.py:5
          return %1, %2, %2, %3
        }""",
    ),
    "dce: outputs of a loop that nobody reads": (
        dce,
        """
        graph(%0: float32[] "h", %1: float32[5] "x") {
          %2: (float32[], float32[5], float32[5], float32[5]) = scan(%0, %1, body=@body, consts=0,
              carry=1, length=5, reverse=False, save=True) {
            body = graph(%0: float32[] "x0", %1: float32[] "x1") {
              %2: float32[] = add(%0, %1)
              %3: float32[] = exp(%1)
              %4: float32[] = tanh(%1)
              return %2, %3, %4
            }
          }
          %3: float32[5] = pick(%2, index=1)
          %4: float32[5] = pick(%2, index=2)
          %5: float32[5] = pick(%2, index=3)
          return %4
        }""",
        """
        graph(%0: float32[] "h", %1: float32[5] "x") {
          %2: (float32[], float32[5]) = scan(%0, %1, body=@body, consts=0, carry=1, length=5, \
reverse=False, save=False) {
            body = graph(%0: float32[] "x0", %1: float32[] "x1") {
              %2: float32[] = add(%0, %1)
              %3: float32[] = tanh(%1)
              return %2, %3
            }
          }
          %3: float32[5] = pick(%2, index=1)
          return %3
        }""",
    ),
    "run: everything together": (
        run,
        """
        graph(%0: float32[n, 2] "x", %1: float32[n, 2] "g") {
          %2: float32[n, 2] = full(shape=(n, 2), fill_value=1, dtype=float32)
          %3: float32[n, 2] = pull(%1, %2)                          # model.py:3
          %4: float32[n, 2] = mish(%0)                              # model.py:4
          %5: float32[n, 2] = negative(%3)                          # model.py:5
          %6: float32[n, 2] = negative(%1)                          # model.py:6
          %7: float32[n, 2] = multiply(%5, %6)                      # model.py:7
          return %7
        }""",
        """
        graph(%0: float32[n, 2] "x", %1: float32[n, 2] "g") {
          %2: float32[n, 2] = multiply(%1, %1)                      # model.py:7
          return %2
        }""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name):
    each, before, after = CASES[name]
    before = textwrap.dedent(before).strip()
    graph = read(before)
    found = each(graph)
    check(found, node_type)
    expected = show(graph) if after is None else textwrap.dedent(after).strip()
    assert show(found) == expected
    assert show(each(found)) == expected
