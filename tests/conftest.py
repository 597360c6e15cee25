"""Settings that hold for every test; they must be made before JAX is imported."""

import os
import sys

import pytest
from hypothesis import settings

os.environ.setdefault("JAX_ENABLE_X64", "1")  # JAX is the oracle in float64
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# Every program is made anew: no test passes because of what an earlier run left, and none writes to
# the user's cache. Tests of the cache turn it on in folders of their own.
os.environ["WENGERT_CACHE"] = "0"

# Tests start many processes: each would compile the whole package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A failure must repeat on the next run and on another machine, slow or fast.
settings.register_profile("wengert", deadline=None, derandomize=True)
settings.load_profile("wengert")


@pytest.fixture(autouse=True)
def tests_in_any_order() -> None:
    """Layers that a test makes without a seed, and what is counted of functions that were compiled
    and thrown away, do not depend on the tests before it.
    """
    import wengert  # below the settings above
    from wengert.api.compiling import met

    wengert.nn.seed()
    met._compiled_of_code.clear()
