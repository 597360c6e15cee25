"""Processes end well whatever their threads are doing; `runtime.exits` does it more often."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_end_of_a_process_cuts_nothing_in_two():
    done = subprocess.run(
        [sys.executable, "-m", "runtime.exits", "2"],
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "all ended well\n", done.stdout + done.stderr[-3000:]
    assert done.returncode == 0
