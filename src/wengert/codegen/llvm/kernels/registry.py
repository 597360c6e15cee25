"""The special kernels by name: that of `Kernel` in the definition of an op."""

from __future__ import annotations

from wengert.codegen.llvm.kernels.cumulative import CUMULATE
from wengert.codegen.llvm.kernels.extremes import POSITION
from wengert.codegen.llvm.kernels.kernel_call import Special
from wengert.codegen.llvm.kernels.random_bits import RANDOM
from wengert.codegen.llvm.kernels.report import DEBUG
from wengert.codegen.llvm.kernels.scatter import SCATTER
from wengert.codegen.llvm.kernels.search_sorted import SEARCH
from wengert.codegen.llvm.kernels.sorting import SORT
from wengert.codegen.llvm.linalg.factorisations import FACTORISATIONS

SPECIALS: dict[str, Special] = {
    **CUMULATE,
    **DEBUG,
    **FACTORISATIONS,
    **POSITION,
    **RANDOM,
    **SCATTER,
    **SEARCH,
    **SORT,
}
