"""Strategies from outside the repository: installed packages, and programs that register their own."""

import importlib
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.looping import for_each
from helpers.small import Ran, python

import rag_core
from rag_core.catalog import RECIPES, Number, Recipe, Registry, build, describe
from rag_core.lab import doctor
from rag_core.stages import Bm25, Generate, Retrieve
from rag_core.values.errors import ConfigError

OURS = list(RECIPES.values())  # loads the registry of this process before a test installs a package
STRATEGY = """\
from dataclasses import dataclass
from rag_core.catalog import Number, Recipe
from rag_core.stages import Bm25, Generate, Retrieve, SelectStage

@dataclass(frozen=True)
class EveryOther(SelectStage):
    n: int = 2
    def select(self, ranking, ctx):
        return ranking.hits[:: self.n]

SKIP = Number("skip", 2, "Keeps one passage of this many.", min=1, max=5, step=1, whole=True)
STRATEGY = Recipe("ward_skip", "Ward skip", "BM25, every other passage.", "Our ward.", (SKIP,),
    lambda c: (Retrieve((Bm25(k=6),)), EveryOther(c["skip"]), Generate()), "Variety.", "Precision.", {"answer": 1})
"""


def package(folder: Path, name: str, code: str, *entries: str) -> Path:
    """An installed package: a module and a dist-info folder with entry points, as pip leaves them."""
    module = name.replace("-", "_")
    info = folder / f"{module}-1.2.dist-info"
    info.mkdir(parents=True)
    (folder / f"{module}.py").write_text(code)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    lines = "".join(f"{entry}\n" for entry in entries)
    (info / "entry_points.txt").write_text(f"[rag_core.strategies]\n{lines}")
    return folder


def rag_beside(site: Path, home: Path, *arguments: str) -> Ran:
    """The command in a new Python in which the packages of `site` are installed."""
    return python("-m", "rag_core", *arguments, PYTHONPATH=str(site), RAG_HOME=str(home))


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    assert len(STRATEGY.splitlines()) <= 15
    return package(tmp_path / "site", "ward-rag", STRATEGY, "ward = ward_rag:STRATEGY")


@pytest.fixture
def loaded(ward: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package's strategy in this process, as its entry point leaves it in a new one."""
    monkeypatch.syspath_prepend(ward)
    monkeypatch.delitem(sys.modules, "ward_rag", raising=False)
    rag_core.register(importlib.import_module("ward_rag").STRATEGY)
    yield
    rag_core.unregister("ward_skip")


def recipe(name: str = "mine", title: str = "Mine") -> Recipe:
    return Recipe(
        name,
        title,
        "Keyword search.",
        "This test.",
        (Number("k_final", 3, "Passages.", min=1, max=9, step=1, unit="passages", whole=True),),
        lambda c: (Retrieve((Bm25(k=c["k_final"]),)), Generate()),
        "Anything.",
        "Nothing.",
        {"answer": 1},
    )


@pytest.fixture
def mine() -> Iterator[Recipe]:
    """A strategy registered for one test."""
    one = recipe()
    rag_core.register(one)
    yield one
    rag_core.unregister("mine")


class TestAPackage:
    def test_its_strategy_is_listed_with_its_own_stage_and_control(self, ward, tmp_path):
        ran = rag_beside(ward, tmp_path, "strategies", "--json")
        assert (ran.code, ran.err) == (0, "")
        listed = {row["name"]: row for row in ran.json}
        assert list(listed) == [*RECIPES, "ward_skip"]
        assert [stage["stage"] for stage in listed["ward_skip"]["stages"]] == [
            "Bm25",
            "EveryOther",
            "Generate",
        ]
        assert [control["name"] for control in listed["ward_skip"]["controls"]] == ["skip"]

    def test_it_answers_a_question_and_is_measured(self, loaded, ready, rag, tmp_path, beir, monkeypatch):
        monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))

        def ran(arguments: str) -> Any:
            return rag(*arguments.split(), "--json").json

        ran(f"index {beir} --corpus animals")
        trace = ran("query cats --corpus animals --strategy ward_skip --set skip=1")
        assert trace["strategy"] == "ward_skip"
        assert [step["params"] for step in trace["steps"] if step["stage"] == "EveryOther"] == [{"n": 1}]
        compared = ran("compare cats --corpus animals --strategies a=ward_skip,b=ward_skip --set a.skip=1")
        first, second = ([hit["id"] for hit in one["contexts"]] for one in compared["traces"])
        assert first == [hit["id"] for hit in trace["contexts"]]
        assert second == first[::2] != first
        measured = ran(f"eval --data {beir} --strategies ward_skip,bm25")
        assert set(measured["strategies"]) == {"ward_skip", "bm25"}
        assert ran(f"sweep --data {beir} --strategy ward_skip --vary skip=1:3:3")


BROKEN = {
    "its module fails": ("raise RuntimeError('no\\nscales')", "RuntimeError: no scales"),
    "its module leaves Python": ("import sys; sys.exit('bye')", "SystemExit: bye"),
    "the object is not there": ("", "AttributeError"),
    "a call fails": ("def STRATEGY(): return 1 / 0", "ZeroDivisionError"),
    "it is no recipe": ("STRATEGY = ['bm25']", "registered as a Recipe, not as str"),
    "a name is malformed": (
        "import dataclasses, rag_core\nSTRATEGY = dataclasses.replace(rag_core.RECIPES['bm25'], name='a@b')",
        "cannot be called 'a@b'",
    ),
    "its stages do not fit": (
        "import dataclasses, rag_core\nfrom rag_core.stages import Generate\n"
        "STRATEGY = dataclasses.replace(rag_core.RECIPES['bm25'], name='x', stages=lambda c: (Generate(),))",
        "Generate needs a ranking",
    ),
    "its stages cannot be made": (
        "import dataclasses, rag_core\n"
        "STRATEGY = dataclasses.replace(rag_core.RECIPES['bm25'], name='x', stages=lambda c: c['gone'])",
        "does not build with its defaults: KeyError",
    ),
    "its name is taken": (
        "import rag_core\nSTRATEGY = rag_core.RECIPES['bm25']",
        "Package bad-rag 1.2 cannot register strategy 'bm25': package rag_core already has one.",
    ),
}


@pytest.mark.parametrize(("code", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_package_is_named_and_harms_nothing(ward, monkeypatch, code, reason):
    package(ward, "bad-rag", code, "bad = bad_rag:STRATEGY")
    monkeypatch.syspath_prepend(ward)
    monkeypatch.delitem(sys.modules, "bad_rag", raising=False)
    registry = Registry(OURS)
    with pytest.warns(RuntimeWarning, match="Package bad-rag 1.2 could not register 'bad = bad_rag:STRATEGY'"):
        assert list(registry) == [*RECIPES, "ward_skip"]
    (failure,) = registry.failed
    assert reason in failure.reason
    assert "\n" not in str(failure)
    assert list(registry) == [*RECIPES, "ward_skip"], "it is loaded once"


def test_a_broken_package_is_told_by_the_command_line(tmp_path):
    site = package(tmp_path / "site", "bad-rag", "raise RuntimeError('no scales')", "bad = bad_rag:STRATEGY")
    ran = rag_beside(site, tmp_path, "query", "q", "--strategy", "ward_skip")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "Package bad-rag 1.2 could not register" in ran.err
    ran = rag_beside(site, tmp_path, "strategies", "--json")
    assert ran.code == 0
    assert [row["name"] for row in ran.json] == list(RECIPES)
    assert "RuntimeError: no scales" in ran.err


def test_the_doctor_names_packages_and_what_is_wrong_with_them(ward, monkeypatch):
    package(ward, "bad-rag", "", "bad = bad_rag:STRATEGY")
    monkeypatch.syspath_prepend(ward)
    for module in ("bad_rag", "ward_rag"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(doctor, "RECIPES", Registry(OURS))
    with pytest.warns(RuntimeWarning, match="bad-rag"):
        good, bad = doctor._plugins()
    assert (good.ok, good.what) == (None, "strategies of package ward-rag 1.2: ward_skip")
    assert bad.ok is None, "a question can still be answered"
    assert "'bad = bad_rag:STRATEGY'" in bad.what
    assert bad.mend == "pip install --upgrade bad-rag, or pip uninstall bad-rag"


@pytest.mark.parametrize(
    "code",
    [
        "def STRATEGIES(): return (ONE, TWO)",
        "STRATEGIES = [ONE, TWO]",
        "def STRATEGIES():\n    yield ONE\n    yield TWO",
    ],
)
def test_an_entry_point_gives_several_strategies(tmp_path, monkeypatch, code):
    lines = (
        "import dataclasses, rag_core",
        "ONE = dataclasses.replace(rag_core.RECIPES['bm25'], name='one')",
        "TWO = dataclasses.replace(rag_core.RECIPES['bm25'], name='two')",
        code,
    )
    monkeypatch.syspath_prepend(package(tmp_path, "pair", "\n".join(lines), "pair = pair:STRATEGIES"))
    monkeypatch.delitem(sys.modules, "pair", raising=False)
    registry = Registry([recipe()])
    assert list(registry) == ["mine", "one", "two"]
    assert registry.packages == {"pair 1.2": ("one", "two")}
    assert registry.failed == ()


def test_nothing_is_loaded_until_the_registry_is_used(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(package(tmp_path, "lazy", "", "lazy = lazy:GONE"))
    monkeypatch.delitem(sys.modules, "lazy", raising=False)
    registry = Registry([recipe()])
    assert "lazy" not in sys.modules
    with pytest.warns(RuntimeWarning, match="lazy"):
        assert len(registry) == 1
    assert "lazy" in sys.modules


class TestRegister:
    def test_a_registered_strategy_is_built_run_and_described(self, mine, services):
        assert RECIPES["mine"] is rag_core.RECIPES["mine"] is mine
        assert list(RECIPES)[-1] == "mine"
        assert len(build(("mine", {"k_final": 1})).run("cats sleep", services).ranking) == 1
        assert describe(("mine", {"k_final": 1})) == "Mine · k_final 1"

    def test_a_clash_names_both_packages(self, mine):
        with pytest.raises(ConfigError) as refused:
            rag_core.register(recipe(title="Other"))
        assert refused.value.message == (
            "Package test_registry cannot register strategy 'mine': package test_registry already has one."
        )
        assert refused.value.next_step == "Give it another name, or register it with replace=True."
        assert RECIPES["mine"] is mine

    def test_it_can_be_replaced_on_purpose(self, mine):
        other = recipe(title="Other")
        rag_core.register(other, replace=True)
        assert RECIPES["mine"] is other

    @pytest.mark.parametrize("replacing", [False, True])
    def test_a_built_in_strategy_stays(self, replacing):
        with pytest.raises(ConfigError, match=r"package rag_core already has one\. Give it another name\.$"):
            rag_core.register(recipe("bm25"), replace=replacing)
        with pytest.raises(ConfigError, match="built in"):
            rag_core.unregister("bm25")
        assert RECIPES["bm25"].title == "BM25 keywords"

    def test_what_was_never_registered_cannot_be_taken_out(self):
        with pytest.raises(ConfigError, match="no strategy 'mine'"):
            rag_core.unregister("mine")

    @for_each("name", ["", "Mine", "a b", "a.b", "a@b", "a=b", "a,b", "1a", "ñ"])
    def test_a_name_that_the_command_line_could_not_read_is_refused(self, name):
        with pytest.raises(ConfigError, match="cannot be called"):
            rag_core.register(recipe(name))
        assert name not in RECIPES

    def test_a_recipe_that_does_not_build_is_refused(self):
        with pytest.raises(ConfigError, match="does not build with its defaults: ZeroDivisionError"):
            rag_core.register(replace(recipe(), stages=lambda c: 1 / 0))
        with pytest.raises(ConfigError, match="as a Recipe, not as function"):
            rag_core.register(recipe)  # type: ignore[arg-type]
        assert "mine" not in RECIPES

    def test_the_mapping_cannot_be_written(self):
        with pytest.raises(TypeError):
            RECIPES["mine"] = recipe()  # type: ignore[index]


def test_threads_may_read_and_register_at_the_same_time():
    registry = Registry(OURS)

    def work(number: int) -> None:
        for turn in range(20):
            name = f"s{number}_{turn}"
            registry.register(recipe(name))
            assert registry[name].name == name
            assert all(one.title for one in registry.values())
            registry.unregister(name)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert list(registry) == list(RECIPES)
