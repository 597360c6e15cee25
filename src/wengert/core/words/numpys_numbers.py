"""Numbers of NumPy's as arguments, `np.int64(3)`. They are traced as arrays are, and where Python
needs the value, as in `range(n)`, only a Python number could give it.
"""

from __future__ import annotations

_NEED_THE_VALUE = ("bool", "float", "getitem", "index", "int", "item")


def with_numpys_number(what: str, argument: str, repair: str) -> str:
    """A repair of what needs the value of a Tensor, with what to do about the argument that it is
    computed from; "" where there is none, or several.
    """
    if not argument or what not in _NEED_THE_VALUE:
        return repair
    return (
        f"Pass int({argument}), since numbers of NumPy's are traced as arrays are, and write "
        f'static="{argument}" in wg.compile or bind if each number is to have a program of its '
        f"own. Otherwise {repair[0].lower()}{repair[1:]}"
    )
