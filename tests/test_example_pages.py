"""Every example has a page: it shows code that is in the example, and a picture."""

import re
import textwrap
from xml.etree import ElementTree

import pytest
from example_runs import EXAMPLES, ROOT, SVG

PAGES = ROOT / "docs" / "examples"
ELSEWHERE = {"lars": ROOT / "docs" / "lars.md"}  # an experiment, with a page of its own
PROGRAMS = {
    path.stem: path.read_text(encoding="utf-8")
    for path in sorted(EXAMPLES.glob("*.py"))
    if "\ndef main(" in path.read_text(encoding="utf-8")
}
FENCE = re.compile(r"^```python\b[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def page_of(name):
    return ELSEWHERE.get(name, PAGES / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_page_tells_of_its_example(name):
    page, program = page_of(name), PROGRAMS[name]
    command = f"make demo EXAMPLE={name}"
    assert f"    {command}" in page
    assert command in re.sub(r"\s+", " ", program.split('"""')[1])
    for block in FENCE.findall(page) if name not in ELSEWHERE else ():
        indented = textwrap.indent(block, "    ")
        assert block in program or indented in program, f"this is not in {name}.py:\n{block}"


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - ELSEWHERE))
def test_a_page_has_its_picture(name):
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page_of(name))
    assert shown == [f"{name}.svg"]
    path = PAGES / f"{name}.svg"
    assert path.stat().st_size < 100_000
    root = ElementTree.parse(path).getroot()
    assert root.tag == f"{SVG}svg"
    assert {f"{SVG}polyline", f"{SVG}circle"} & {each.tag for each in root}


def test_the_index_leads_to_every_page():
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    pages = {path.stem for path in PAGES.glob("*.md")} - {"index"}
    assert pages == PROGRAMS.keys() - ELSEWHERE
    assert set(re.findall(r"\]\((\w+)\.md\)", index)) == pages
    assert set(re.findall(r"!\[[^\]]+\]\((\w+)\.svg\)", index)) == pages
