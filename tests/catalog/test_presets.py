"""Settings that people save under a name: found by it, kept in one file, and never lost with a file that cannot be read."""

import json
import stat
from pathlib import Path

import pytest

from rag_core import RagError, set_up
from rag_core.catalog import RECIPES, SavedPresets, build, presets_of, saved_presets
from rag_core.catalog.presets import MOST
from rag_core.evaluation.run_folder import LABEL
from rag_core.values.errors import ConfigError, DataError

HYBRID = RECIPES["hybrid_rrf"]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SavedPresets:
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    return saved_presets()


@pytest.fixture
def file(kept: SavedPresets, tmp_path: Path) -> Path:
    return tmp_path / "home" / "presets.json"


def names() -> list[str]:
    """The presets of the hybrid that did not come with it."""
    return [preset.name for preset in presets_of(HYBRID)[len(HYBRID.presets) :]]


def test_a_saved_setting_is_built_by_its_name_and_keeps_only_what_it_changes(kept, file):
    assert kept.save(HYBRID, "  my-best_one ", {"mmr_lambda": "0.3", "rrf_k": 60}) == "my best one"
    assert json.loads(file.read_text()) == {
        "version": 1,
        "presets": {"hybrid_rrf": {"my best one": {"mmr_lambda": 0.3}}},  # 60 is the default
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert build("hybrid_rrf@my_best_one") == HYBRID.build(mmr_lambda=0.3)
    assert set_up(("hybrid_rrf@my_best_one", {"rrf_k": 5})).strategy == HYBRID.build(mmr_lambda=0.3, rrf_k=5)
    assert [preset.help for preset in kept.of(HYBRID)] == ["λ 0.3"]


def test_prompts_come_back(kept):
    values = {"answer_prompt": {"system": "Be brief.", "text": "{sources}\n{question}"}}
    kept.save(HYBRID, "brief", values)
    assert build("hybrid_rrf@brief") == HYBRID.build(**values)


@pytest.mark.parametrize("name", ["", " ", "a=b", "a@b", "a.b", "a,b", "x" * 41])
def test_a_name_that_the_command_line_could_not_read_is_refused(kept, name):
    with pytest.raises(ConfigError, match="cannot be called"):
        kept.save(HYBRID, name, {})
    assert names() == []


def test_a_name_that_is_taken_is_refused_unless_it_is_to_be_replaced(kept):
    kept.save(HYBRID, "mine", {"rrf_k": 5})
    with pytest.raises(ConfigError, match="'mine' already"):
        kept.save(HYBRID, "mine", {"rrf_k": 6})
    assert build("hybrid_rrf@mine").controls["rrf_k"] == 5
    kept.save(HYBRID, "mine", {"rrf_k": 6}, replace=True)
    assert build("hybrid_rrf@mine").controls["rrf_k"] == 6
    kept.save(RECIPES["ensemble"], "mine", {})  # a name is one strategy's


def test_one_that_comes_with_the_strategy_stays_as_it_is(kept):
    kept.save(HYBRID, "mine", {})
    for press in (
        lambda: kept.save(HYBRID, "tuned", {}, replace=True),
        lambda: kept.rename(HYBRID, "mine", "tuned"),
        lambda: kept.delete(HYBRID, "tuned"),
        lambda: kept.rename(HYBRID, "tuned", "other"),
    ):
        with pytest.raises(ConfigError):
            press()
    assert names() == ["mine"]


def test_one_is_renamed_in_its_place_and_deleted(kept):
    for name in ("a", "b"):
        kept.save(HYBRID, name, {"rrf_k": 5})
    with pytest.raises(ConfigError, match="'b' already"):
        kept.rename(HYBRID, "a", "b")
    kept.rename(HYBRID, "a", "c")
    assert names() == ["c", "b"]
    kept.delete(HYBRID, "c")
    assert names() == ["b"]
    with pytest.raises(ConfigError, match="in the meantime"):
        kept.delete(HYBRID, "c")


def test_there_is_a_most(kept, file):
    own = {f"p{number}": {} for number in range(MOST)}
    file.parent.mkdir()
    file.write_text(json.dumps({"version": 1, "presets": {"hybrid_rrf": own}}))
    with pytest.raises(ConfigError, match=f"{MOST} saved presets"):
        kept.save(HYBRID, "another", {})
    kept.save(HYBRID, "p0", {}, replace=True)
    kept.rename(HYBRID, "p1", "other")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "Expecting property name"),
        ("[]", "form of saved presets"),
        ('{"version": 1, "presets": {"hybrid_rrf": {"mine": 5}}}', "form of saved presets"),
        ('{"version": 2, "presets": {}}', "a newer version"),
        ('{"version": 1, "presets": {"hybrid_rrf": {"tuned": {}}}}', "'tuned' comes with hybrid_rrf now"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_left_as_it_is(kept, file, rag, text, told):
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(DataError, match=told) as refused:
        build("hybrid_rrf@mine")
    assert str(file) in str(refused.value)
    if "tuned" not in text:
        for press in (lambda: kept.save(HYBRID, "new", {}), lambda: kept.delete(HYBRID, "mine")):
            with pytest.raises(DataError):
                press()
    assert file.read_text() == text
    assert build("hybrid_rrf@tuned")  # what comes with a strategy needs no file
    listed = rag("strategies")
    assert listed.code == 0
    assert told in listed.err
    assert "hybrid_rrf: " in listed.out


def test_a_control_that_is_no_longer_there_is_named(kept, file):
    file.parent.mkdir()
    file.write_text(json.dumps({"version": 1, "presets": {"hybrid_rrf": {"old": {"gone": 1}, "self": {"self": 1}}}}))
    for name, control in (("old", "gone"), ("self", "self")):
        with pytest.raises(RagError, match=f"no control '{control}'"):
            build(f"hybrid_rrf@{name}")
    assert ["no control 'gone'" in kept.of(HYBRID)[0].help, names()] == [True, ["old", "self"]]


def test_the_command_line_lists_and_takes_it(kept, rag):
    kept.save(HYBRID, "my own", {"mmr_lambda": 0.3})
    assert "preset my own: mmr_lambda=0.3" in " ".join(rag("strategies").out.split())
    listed = {recipe["name"]: recipe["presets"] for recipe in rag("strategies", "--json").json}
    assert {"name": "my own", "values": {"mmr_lambda": 0.3}, "help": "λ 0.3"} in listed["hybrid_rrf"]
    assert LABEL.fullmatch("hybrid_rrf@my_own")  # `rag eval` labels what has no label by it
    told = rag("query", "anti-D?", "--strategy", "hybrid_rrf@yours").err
    assert "no preset 'yours'" in told
    assert "tuned, source, my own" in told
