"""torch.no_grad() around what is recorded: it says nothing to us, and gradients go through all of
it. torch is not imported for this.
"""

from __future__ import annotations

import sys


def torch_stops() -> bool:
    """Whether torch is there, and its gradients are off now."""
    enabled = getattr(sys.modules.get("torch"), "is_grad_enabled", None)
    return enabled is not None and not enabled()
