"""The kernels of linear algebra, by op."""

from __future__ import annotations

from wengert.codegen.llvm.linalg_cofactors import COFACTORS
from wengert.codegen.llvm.linalg_determinant import DETERMINANTS
from wengert.codegen.llvm.linalg_solve import SOLVERS
from wengert.codegen.llvm.special import Special

FACTORISATIONS: dict[str, Special] = {**SOLVERS, **DETERMINANTS, **COFACTORS}
