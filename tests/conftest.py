"""Settings that hold for every test; they must be made before JAX is imported."""

import gc
import importlib.util
import mmap
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from objects_by_text import object_of

os.environ.setdefault("JAX_ENABLE_X64", "1")  # JAX is the oracle in float64
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# An oracle runs once: what compiles it in a hurry is quicker altogether.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
HURRY = "xla_cpu_use_fusion_emitters"


def jax_knows(flag: str) -> bool:
    """Whether the installed JAX has a flag of this name: of another one it would die."""
    package = importlib.util.find_spec("jaxlib")
    for place in package.submodule_search_locations or () if package else ():
        for library in Path(place).glob("libjax_common.*"):
            with (
                library.open("rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
            ):
                return content.find(flag.encode()) >= 0
    return False


if "XLA_FLAGS" not in os.environ:  # workers have it from the process that started them
    os.environ["XLA_FLAGS"] = f"--{HURRY}=false" if jax_knows(HURRY) else ""

# Every program is made anew: no test passes because of what an earlier run left, and none writes to
# the user's cache. Tests of the cache turn it on in folders of their own.
os.environ["WENGERT_CACHE"] = "0"

# Tests start many processes: each would compile the whole package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A failure must repeat on the next run and on another machine, slow or fast.
settings.register_profile("wengert", deadline=None, derandomize=True)
settings.load_profile("wengert")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """A million objects that tests are made of stay until the end: while they are made, nothing is
    looked for among them, and tests that collect garbage do not look at them again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def tests_in_any_order() -> None:
    """Layers that a test makes without a seed, and what is counted of functions that were compiled
    and thrown away, or made around other numbers, do not depend on the tests before it.
    """
    import wengert  # below the settings above
    from wengert.api.compiling import met

    wengert.nn.seed()
    met._compiled_of_code.clear()
    met._swept._latest.clear()


GENERATORS = ("rng", "RNG")
_first_states: dict[str, list[tuple[np.random.Generator, Any]]] = {}


@pytest.fixture(autouse=True)
def generators_from_their_beginning(request: pytest.FixtureRequest) -> None:
    """What a test draws from a generator of its module does not depend on the tests before it:
    which those are is another matter in every run on two workers.
    """
    module = request.module
    if module.__name__ not in _first_states:
        drawn = [getattr(module, name, None) for name in GENERATORS]
        _first_states[module.__name__] = [
            (x, x.bit_generator.state) for x in drawn if isinstance(x, np.random.Generator)
        ]
    for generator, state in _first_states[module.__name__]:
        generator.bit_generator.state = state


MADE_ANEW = Path(__file__).parent / "runtime"  # tests of how machine code is made and kept


@pytest.fixture(autouse=True)
def machine_code_of_a_text_is_made_once(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Much of what LLVM is asked for it has made before, in another test or build: machine code is
    kept by the text it is made of, and by nothing else. All before that text is done anew.
    """
    if MADE_ANEW not in request.path.parents:
        from wengert.runtime.caching import cache

        monkeypatch.setattr(cache, "make_object", object_of)
