"""Every link between pages leads somewhere, and every page can be found from the README."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("**/*.md"), *(ROOT / "charts").glob("*/*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def links(page: Path) -> list[Path]:
    targets = (target for target in LINK.findall(page.read_text("utf-8")) if "://" not in target)
    return [(page.parent / target).resolve() for target in targets]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert [str(target) for target in links(page) if not target.exists()] == []


def test_every_page_is_found_from_the_readme() -> None:
    found = {ROOT / "README.md"}
    ahead = [ROOT / "README.md"]
    while ahead:
        fresh = {target for target in links(ahead.pop()) if target.suffix == ".md" and target.exists()} - found
        found |= fresh
        ahead += fresh
    docs = {page for page in PAGES if page.is_relative_to(ROOT / "docs")}
    assert sorted(str(page.relative_to(ROOT)) for page in docs - found) == []
