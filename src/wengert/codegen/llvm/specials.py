"""The special kernels by the name of their op."""

from __future__ import annotations

from wengert.codegen.llvm.linalg_kernels import FACTORISATIONS
from wengert.codegen.llvm.special import Special
from wengert.codegen.llvm.special_cumulate import CUMULATE
from wengert.codegen.llvm.special_debug import DEBUG
from wengert.codegen.llvm.special_position import POSITION
from wengert.codegen.llvm.special_random import RANDOM
from wengert.codegen.llvm.special_scatter import SCATTER
from wengert.codegen.llvm.special_search import SEARCH
from wengert.codegen.llvm.special_sort import SORT

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
