"""What the README says of the code is so: the figures, the house, the settings, the files it names."""

from __future__ import annotations

import re
import tomllib

import pytest
from helpers.small import ROOT

from rag_core import RECIPES
from rag_core import evaluation as ev
from rag_core.values.settings import Settings

README = (ROOT / "README.md").read_text(encoding="utf-8")
STORED = ev.read_json(ROOT / "data" / "results.json")
ROWS = re.findall(r"^\| `(\w+)` \| (\d\.\d{3}) \| (\d\.\d{3}) \| (\d\.\d{3}) \|$", README, re.MULTILINE)


def test_it_fits_on_a_few_screens_and_begins_with_a_picture() -> None:
    assert len(README.splitlines()) < 250
    picture = re.search(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert picture
    assert picture.start() < README.index("## Start")
    assert (ROOT / picture[1]).is_file()


@pytest.mark.parametrize(("label", "overall", "english", "spanish"), ROWS)
def test_its_figures_are_the_stored_ones(label: str, overall: str, english: str, spanish: str) -> None:
    languages = STORED["groups"]["language"]
    means = [
        STORED["strategies"][label]["metrics"]["ndcg@10"]["mean"],
        *(languages[code]["strategies"][label]["ndcg@10"]["mean"] for code in ("en", "es")),
    ]
    assert [overall, english, spanish] == [f"{mean:.3f}" for mean in means]


def test_its_figures_are_for_every_strategy() -> None:
    assert set(RECIPES) <= {row[0] for row in ROWS}


def test_the_house_it_draws_is_the_one_that_is_checked() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [set(re.split(r" \| ", row)) for row in table["contracts"][0]["layers"]]
    drawing = README.partition("## The house")[2].partition("```")[2].partition("```")[0]
    rooms = [set(line.partition("   ")[0].split()) for line in drawing.splitlines() if "   " in line]
    assert [row for row in rooms if not row & {"app.py"}] == [row for row in layers if row != {"__main__"}]


def test_every_setting_is_explained() -> None:
    table = README.partition("## Settings")[2].partition("## ")[0]
    rows = "".join(line for line in table.splitlines() if line.startswith("| `"))
    names = {name.removeprefix("RAG_").lower() for name in re.findall(r"`([A-Z_]{4,})`", rows)}
    assert names == set(Settings.model_fields)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([\w./]+)\)", README))))
def test_the_files_it_links_are_there(path: str) -> None:
    assert (ROOT / path).is_file()
