"""The docs site: every page has its place, links lead to pages, names are in the reference, and the
compiler's pictures are what it draws. `make docs` builds the site, and checks the rest.

    python docs/site/drawn_pictures.py    # draws the pictures again
"""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import wengert as wg

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def tool(name):
    """A module of docs/site, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "site" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look
    spec.loader.exec_module(module)
    return module


def test_every_page_has_a_place():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = re.findall(r'^ +- "?([^"\s:]+\.md)"?$', text.partition("\nnav:")[2], re.MULTILINE)
    assert len(nav) > 40
    made = set(tool("outside_pages").pages(ROOT)) | set(tool("reference_pages").pages())
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} | made
    found = set(tool("site_nav").filled_in(nav, pages))
    assert not found - pages, "mkdocs.yml names pages that are not there"
    lost = [page for page in pages - found if not page.startswith("source/")]  # reached by links
    assert not lost, "mkdocs.yml leaves pages out"


def test_stars_take_what_is_not_named():
    pages = ["index.md", "b.md", "a.md", "how/x.md", "how/deeper/y.md"]
    nav = ["index.md", {"Guides": ["b.md", "*.md"]}, {"None": ["none/*.md"]}, {"H": ["how/*.md"]}]
    filled = tool("site_nav").filled_in(nav, pages)
    assert filled == ["index.md", {"Guides": ["b.md", "a.md"]}, {"H": ["how/x.md"]}]


@pytest.mark.parametrize(
    ("page", "link", "leads_to"),
    [
        ("vmap.md", "../CONTRIBUTING.md#add-an-op", "contributing.md#add-an-op"),
        ("how-to/deployment.md", "../../CHANGELOG.md", "../changelog.md"),
        ("vmap.md", "numerics.md#same-bits", "numerics.md#same-bits"),
        ("contributing.md", "docs/runtime.md#the-environment", "runtime.md#the-environment"),
        ("lars.md", "../examples/lars.py", "source/examples/lars.py.md"),
        ("index.md", "from/jax.md", "from/jax.md"),
        ("contributing.md", "x", "x"),
        ("index.md", "https://example.org", "https://example.org"),
    ],
)
def test_links_of_pages_lead_to_pages(page, link, leads_to):
    relinked = tool("outside_pages").relinked(f"a [word]({link}) here", page, ROOT)
    assert relinked == f"a [word]({leads_to}) here"


def test_source_files_that_pages_point_at_are_pages(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("[program](../examples/one.py)")
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "one.py").write_text("print(1)\n")
    for name in ("CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"):
        (tmp_path / name).write_text(name)
    made = tool("outside_pages").pages(tmp_path)
    assert "print(1)" in made["source/examples/one.py.md"]
    assert made["contributing.md"] == "CONTRIBUTING.md"


def test_every_public_name_is_in_the_reference():
    pages = tool("reference_pages").pages()
    directives = re.findall(r"^::: wengert\.(\S+)$", "\n".join(pages.values()), re.MULTILINE)
    assert len(directives) == len(set(directives)) > 350
    ours = {name for name in wg.op.public("") if name in wg.__all__}  # tests add ops of their own
    assert ours <= set(directives)
    assert {"TrainStep", "compile", "grad", "vmap", "nn.Linear", "optim.Adam"} <= set(directives)
    assert "::: wengert.grad\n" in pages["reference/derivatives.md"]
    assert "::: wengert.scan\n" in pages["reference/control.md"]
    assert "::: wengert.cross_entropy\n" in pages["reference/learning.md"]


def test_the_pictures_are_what_the_compiler_draws():
    found = tool("drawn_pictures").pictures()
    kept = {path.name: path.read_text(encoding="utf-8") for path in DOCS.glob("pictures/*.svg")}
    assert found == kept, "python docs/site/drawn_pictures.py draws them again"
