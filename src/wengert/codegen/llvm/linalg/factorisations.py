"""The kernels of linear algebra, by op."""

from __future__ import annotations

from wengert.codegen.llvm.kernels.kernel_call import Special
from wengert.codegen.llvm.linalg.banded import BANDED
from wengert.codegen.llvm.linalg.cofactors import COFACTORS
from wengert.codegen.llvm.linalg.determinants import DETERMINANTS
from wengert.codegen.llvm.linalg.matrix_exponential import EXPONENTIAL
from wengert.codegen.llvm.linalg.solvers import SOLVERS
from wengert.codegen.llvm.linalg.spectral.eigenvalues import EIGENVALUES
from wengert.codegen.llvm.linalg.spectral.left_out import COMPLEMENT
from wengert.codegen.llvm.linalg.spectral.singular_values import SINGULAR_VALUES
from wengert.codegen.llvm.linalg.square_roots import ROOT

FACTORISATIONS: dict[str, Special] = {
    **SOLVERS,
    **DETERMINANTS,
    **COFACTORS,
    **EIGENVALUES,
    **SINGULAR_VALUES,
    **COMPLEMENT,
    **EXPONENTIAL,
    **ROOT,
    **BANDED,
}
