"""Eight hundred random programs: eager, compiled and compiled without fusion agree."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from .comparing import WAYS, check
from .coverage import Coverage
from .programs import UNREACHED
from .search import examine

CHUNKS, SIZE = 20, 40
LEAST_NODES, LEAST_VISITS, LEAST_DERIVATIVES = 8, 5, 0.3


@pytest.fixture
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder of this test run, the same for all workers."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "fuzz"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_programs(chunk: int, shared: Path, record_property: Any) -> None:
    """The last chunk to end also looks at what all of them reached."""
    coverage = Coverage()
    for number in range(chunk * SIZE, (chunk + 1) * SIZE):
        # A long run compares all ways; here each program has one, to be quick.
        examine(number, coverage.add, partial(check, ways=[WAYS[number % 4 == 3]]))
    assert coverage.fewest >= LEAST_NODES
    (shared / f"{chunk}.json").write_text(json.dumps(coverage.to_dict()))
    found = [json.loads(each.read_text() or "null") for each in shared.glob("*.json")]
    if len(found) == CHUNKS and all(found):
        whole = Coverage()
        for each in found:
            whole.merge(Coverage.from_dict(each))
        record_property("fuzz", str(whole))
        assert whole.rare(LEAST_VISITS, UNREACHED) == [], str(whole)
        assert whole.share("with a derivative") >= LEAST_DERIVATIVES, str(whole)
