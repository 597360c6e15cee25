"""The kernels of linear algebra, by op."""

from __future__ import annotations

from wengert.codegen.llvm.kernels.kernel_call import Special
from wengert.codegen.llvm.linalg.cofactors import COFACTORS
from wengert.codegen.llvm.linalg.determinants import DETERMINANTS
from wengert.codegen.llvm.linalg.solvers import SOLVERS

FACTORISATIONS: dict[str, Special] = {**SOLVERS, **DETERMINANTS, **COFACTORS}
