"""Compiling leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COUNT = 200
ALLOWED = COUNT * 2000  # bytes; an executable that stays takes 160,000


def test_memory_does_not_grow():
    command = [sys.executable, "-m", "runtime.growth", str(COUNT)]
    folder = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "MALLOC_ARENA_MAX": "1", "WENGERT_CACHE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < ALLOWED
