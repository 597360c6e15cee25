"""How to scale a function and its weights, in words: a search of L-BFGS has absolute tolerances."""

from __future__ import annotations

import math

_OTHER_SIZE = 1e3  # so many times as large as 1, or as small


def scaled(weights: str, size: float, value: float) -> str:
    """What to do where some weights have this size, and the function has this value."""
    said = []
    if not 1 / _OTHER_SIZE < size < _OTHER_SIZE:
        unit = f"1e{math.floor(math.log10(size))}"
        said.append(f"search for {weights} / {unit}, or for a logarithm")
    if abs(value) < 1 / _OTHER_SIZE:
        power = -round(math.log10(abs(value)))
        said.append(f"multiply the function by a number such as 1e+{power}")
    return ", and ".join(said) or (
        "set tolerance_grad and tolerance_change lower, or look in the function for kinks, as of "
        "np.abs, where a search along gradients gets stuck"
    )
