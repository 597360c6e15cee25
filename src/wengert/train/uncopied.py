"""What lives on live arrays, and so cannot be copied."""

from __future__ import annotations

from typing import ClassVar, NoReturn, SupportsIndex


class Uncopied:
    """An object that `copy` and `pickle` refuse. Its programs hold the addresses of live arrays: a
    copy would go on with the arrays of the original, or with some that nobody sees.
    """

    _otherwise: ClassVar[str]  # what to do instead

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__}: cannot be copied or pickled; its programs and its arrays are "
            f"one, and a copy would have arrays that they do not know. {self._otherwise}"
        )
