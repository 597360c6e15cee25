"""Spectrum: complex numbers as a pair of real arrays. It is no array, and says so where it is used
as one: Python would repeat or join the pair, and NumPy would make one array of it.
"""

from __future__ import annotations

from typing import Any, NoReturn

from wengert.errors import DTypeError


def spectrum_as_array(by: str) -> DTypeError:
    """What is said where a pair is used as one array."""
    return DTypeError(
        f"{by}: given the pair (real, imag) of a Fourier transform as one array; there are no "
        "complex numbers here, and both parts are arrays of their own. Write real, imag = "
        "wg.fft.rfft(x), and wg.hypot(real, imag) for the modulus, wg.stack([real, imag]) for one "
        "array."
    )


class Spectrum(tuple[Any, Any]):
    """Real and imaginary part of complex numbers. In a tree it is a tuple like any other."""

    __slots__ = ()

    @property
    def real(self) -> Any:
        return tuple.__getitem__(self, 0)

    @property
    def imag(self) -> Any:
        return tuple.__getitem__(self, 1)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int):
            return tuple.__getitem__(self, index)
        raise spectrum_as_array("getitem")

    def _refuse(self, *_args: Any, **_named: Any) -> NoReturn:
        raise spectrum_as_array("rfft")


for _name in (
    *("abs", "neg", "array", "array_ufunc", "array_function"),
    *("add", "sub", "mul", "truediv", "pow", "matmul"),
    *("radd", "rsub", "rmul", "rtruediv", "rpow", "rmatmul"),
):
    setattr(Spectrum, f"__{_name}__", Spectrum._refuse)
