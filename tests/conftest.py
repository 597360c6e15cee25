"""Settings that hold for every test; they must be made before JAX is imported."""

import os

from hypothesis import settings

os.environ.setdefault("JAX_ENABLE_X64", "1")  # JAX is the oracle in float64
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# A failure must repeat on the next run and on another machine, slow or fast.
settings.register_profile("wengert", deadline=None, derandomize=True)
settings.load_profile("wengert")
