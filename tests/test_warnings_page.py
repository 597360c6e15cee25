"""docs/warnings.md has every warning that somebody may see, and none that there is not."""

import re
from pathlib import Path

from wengert import errors

PAGE = Path(__file__).parent.parent / "docs" / "warnings.md"


def test_every_warning_has_a_section():
    kinds = {name for name in dir(errors) if name.endswith("Warning")} - {"WengertWarning"}
    assert set(re.findall(r"^### (\w+)", PAGE.read_text(), re.MULTILINE)) == kinds
