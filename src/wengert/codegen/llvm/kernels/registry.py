"""The special kernels by name: that of `SpecialKernel` in the definition of an op."""

from __future__ import annotations

from wengert.codegen.llvm.convolution.convolution_kernel import CONVOLUTION
from wengert.codegen.llvm.kernels.cumulative import CUMULATE
from wengert.codegen.llvm.kernels.diagonal_kernels import DIAGONAL_SCANS
from wengert.codegen.llvm.kernels.extremes import POSITION
from wengert.codegen.llvm.kernels.kernel_call import Special
from wengert.codegen.llvm.kernels.planes import PLANES
from wengert.codegen.llvm.kernels.random_bits import RANDOM
from wengert.codegen.llvm.kernels.report import DEBUG
from wengert.codegen.llvm.kernels.scatter import SCATTER
from wengert.codegen.llvm.kernels.search_sorted import SEARCH
from wengert.codegen.llvm.kernels.sorting import SORT
from wengert.codegen.llvm.kernels.state_space_kernels import STATE_SPACES
from wengert.codegen.llvm.linalg.factorisations import FACTORISATIONS
from wengert.core.graph import Node
from wengert.core.lowering import SpecialKernel
from wengert.errors import CompileError

SPECIALS: dict[str, Special] = {
    **CONVOLUTION,
    **CUMULATE,
    **DEBUG,
    **DIAGONAL_SCANS,
    **FACTORISATIONS,
    **PLANES,
    **POSITION,
    **RANDOM,
    **SCATTER,
    **SEARCH,
    **SORT,
    **STATE_SPACES,
}


def special_of(node: Node) -> Special:
    """The writer of a special kernel."""
    lower = node.op.lower
    if not isinstance(lower, SpecialKernel) or lower.name not in SPECIALS:
        place = f" ({node.line})" if node.line else ""
        raise CompileError(
            f"{node.op.name}: has no code of its own; compiled programs consist of elementwise ops "
            "with `emit`, composites and the ops of Wengert. Write it as one of these, or give it "
            f"`lower=`.{place}"
        )
    return SPECIALS[lower.name]
