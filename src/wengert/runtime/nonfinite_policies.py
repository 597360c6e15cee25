"""What `nonfinite=` can be: what is to happen where a result is not finite."""

from __future__ import annotations

from typing import Any

RAISE, SKIP, IGNORE = "raise", "skip", "ignore"
POLICIES = (RAISE, SKIP, IGNORE)
WITHOUT_SKIP = (RAISE, IGNORE)  # where nothing is written that could be left as it was


def require_policy(
    by: str,
    nonfinite: Any,
    policies: tuple[str, ...] = POLICIES,
    error: type[ValueError] = ValueError,
) -> None:
    """Refuse what is none of the policies."""
    if nonfinite not in policies:
        raise error(
            f"{by}: nonfinite={nonfinite!r} was given; it is one of {', '.join(policies)}. "
            "Choose one."
        )
