"""A filter by metadata: every search gives the best of what fits, and the filter is part of what a run is."""

import json
from itertools import product

import numpy as np
import pytest
from helpers.chroma_server import chroma_server
from helpers.source_files import write
from llama_index.core import Document as LlamaDocument
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from pydantic import SecretStr

import rag_core
from rag_core.documents.asked import Asked
from rag_core.indexing import store as store_module
from rag_core.offline.asked import AskedIndex
from rag_core.sessions.replaying import replay
from rag_core.sessions.saved import read_session
from rag_core.values.errors import ConfigError, InputError
from rag_core.values.settings import Settings
from rag_core.values.where import where_text

QUESTION = "Where do the gloves lie?"
WARDS = ("1", "2", "3")
THINGS = ("gloves", "lamps", "scales", "cots")


def notes():
    """Twelve notes, of which those of ward 1 are nearest to the question."""
    for ward, thing in product(WARDS, THINGS):
        text = f"The {thing} lie in cupboard {ward}." + " Where do gloves lie?" * (3 - int(ward))
        year = 2018 + int(ward)
        yield LlamaDocument(
            text=text,
            doc_id=f"{thing}{ward}",
            metadata={"title": thing, "ward": ward, "year": year, "tags": ["a", ward]},
        )


@pytest.fixture(scope="module", params=["mapped", "chroma", "chroma server", "milvus"])
def settings(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wards")
    place = request.param
    if place == "milvus":
        for package in ("pymilvus", "milvus_lite"):
            pytest.importorskip(package, reason=f"{package}, of the extra milvus, is not installed")
        place = str(folder / "index.db")
    if place == "chroma server":
        with chroma_server(folder / "server") as (_, port):
            yield _indexed(folder, f"http://127.0.0.1:{port}")
    else:
        yield _indexed(folder, place)
        if request.param == "milvus":
            from milvus_lite import server_manager_instance

            server_manager_instance.release_server(place)


def _indexed(folder, place):
    settings = Settings(llm="offline", home=folder / ".rag", vectors=SecretStr(place))
    rag_core.index(notes(), "wards", settings=settings, enrich=True)
    return settings


@pytest.fixture
def wards(settings):
    return rag_core.open_lab("wards", settings=settings)


@pytest.mark.parametrize("deep", [1000, 2])  # 2: more fit, and are not among the nearest
def test_each_search_gives_the_best_of_the_passages_that_fit(wards, deep, monkeypatch):
    monkeypatch.setattr(store_module, "DEEP", deep)
    every = len(wards.passages)
    (vector,), _ = wards.engines.embedder.embed([QUESTION])
    asked = AskedIndex(
        [Asked(name, "en", f"Where are they, {name}?") for name in wards.passages],
        lambda: [wards.engines.embedder.embed([f"Where are they, {name}?" for name in wards.passages])[0]],
        wards.engines.embedder,
        wards.passages,
    )
    filtered = wards.among({"ward": "3"}).services()

    def third(hit):
        return hit.passage.doc_id.endswith("3")

    found = wards.index.dense(vector, every)
    assert not any(map(third, found[:3]))
    for k in (1, 3):
        nearest = filtered.index.dense(vector, k)
        assert [hit.id for hit in nearest] == [hit.id for hit in filter(third, found)][:k]
        np.testing.assert_allclose([h.score for h in nearest], [h.score for h in found if third(h)][:k], atol=1e-6)
        worded = wards.index.lexical("gloves lie", every, 1.5, 0.75)
        assert filtered.index.lexical("gloves lie", k, 1.5, 0.75) == list(filter(third, worded))[:k]
        questions = asked.search(QUESTION, every)
        assert (
            asked.among(lambda one: one.doc_id.endswith("3")).search(QUESTION, k) == list(filter(third, questions))[:k]
        )


def test_a_run_keeps_to_its_filter_and_is_told_from_others(wards, tmp_path):
    for strategy in ("bm25", "simple_semantic", "hybrid_rrf", "multi_query", "contextual", "ensemble"):
        trace = wards.run(QUESTION, strategy, where={"ward": "3"})
        assert {hit.passage.doc_id for hit in trace.ranking} == {f"{thing}3" for thing in THINGS}
    plain, third, second = wards.compare(
        QUESTION, ["bm25", *(("bm25", {"where": {"ward": ward}}) for ward in ("3", "2"))]
    )
    assert len({one.fingerprint for one in (plain, third, second)}) == 3
    assert json.loads(third.as_json()["engine"]["where"]) == {"ward": ["3"]}
    again = wards.what_if(third, k_final=2)
    assert (again.where, len(again.ranking)) == (third.where, 2)
    assert all(hit.passage.doc_id.endswith("2") for hit in wards.what_if(third, where={"ward": "2"}).ranking)
    assert wards.tuner(third).move(k1=1.2).trace.ranking.hits
    file = tmp_path / "session.json"
    file.write_text(json.dumps(third.as_json()))
    (replayed,) = replay(read_session(file), wards)
    assert replayed.differences == ()


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"year": 2020, "language": "en"}, "2"),  # the years are 2019, 2020 and 2021
        ({"doc_id!": ["gloves1", "lamps1", "scales1", "cots1", "cots2"], "title": "cots"}, "3"),
        ({"tags": ["2", "none"]}, "2"),
        ({"ward!": ["1", "2"]}, "3"),
        ({"title": "gloves", "tags": "a"}, "123"),
    ],
)
def test_what_a_filter_can_say(wards, where, found):
    trace = wards.run(QUESTION, "bm25", where=where, k_final=20)
    assert {hit.passage.doc_id[-1] for hit in trace.ranking} == set(found)


def test_a_filter_that_nothing_fits_and_one_that_is_none_say_so(wards):
    with pytest.raises(InputError, match=r"No passage of corpus .wards. fits .*9.*tags, ward, year, doc_id"):
        wards.run(QUESTION, "bm25", where={"ward": "9"})
    for wrong in (
        "ward",
        {"ward": {"like": "3"}},
        {"ward": []},
        {"ward": {">": ["1", "2"]}},
        {"ward": [None]},
    ):
        with pytest.raises(ConfigError, match="is no filter"):
            where_text(wrong)


def test_llamaindex_filters_mean_the_same(wards):
    def made(*given, **more):
        rows = [MetadataFilter(key=key, value=value, operator=FilterOperator(how)) for key, how, value in given]
        return MetadataFilters(filters=rows, **more)

    wanted = made(("ward", "!=", "1"), ("year", "in", [2019, 2020]), ("tags", "contains", "a"))
    nodes = wards.retriever("simple_semantic", where=wanted).retrieve(QUESTION)
    assert {one.metadata["ward"] for one in nodes} == {"2"}
    response = wards.among(made(("ward", "==", "3"))).query_engine("bm25").query(QUESTION)
    assert {one.metadata["ward"] for one in response.source_nodes} == {"3"}
    either = {"condition": FilterCondition.OR}
    for refused in (
        made(("ward", "text_match", "1")), made(("year", ">", 2019)), made(("ward", "==", "1"), ("year", "==", 2020), **either),
        MetadataFilters(filters=[made(("ward", "==", "1"))]), made(("tags", "==", "1"), ("tags", "==", "a")),
    ):  # fmt: skip
        with pytest.raises(ConfigError):
            wards.retriever("bm25", where=refused)


def test_equal_texts_stand_for_those_that_fit_alone(tmp_path):
    settings = Settings(llm="offline", home=tmp_path / ".rag")
    both = [LlamaDocument(text="Call us.", doc_id=ward, metadata={"title": "Help", "ward": ward}) for ward in "ab"]
    rag_core.index(both, "wards", settings=settings)
    lab = rag_core.open_lab("wards", settings=settings)
    (hit,) = lab.run("Call us?", "bm25", where={"ward": "b"}).ranking
    assert (hit.passage.doc_id, hit.passage.copies) == ("b", ())


def test_files_keep_what_they_say_of_themselves(tmp_path, rag):
    header = "---\ntitle: Visits\nward: 3\nopen: true\ntags: [guests, hours]\nnested: {a: 1}\n---\n"
    row = '{"_id": "b", "text": "Guests wash their hands.", "ward": 4, "metadata": {"floor": 2}}'
    text = f"{header}# Visiting hours\n\nGuests may come from ten to noon."
    files = write(tmp_path / "files", {"a.md": text, "b.jsonl": row})
    assert rag("index", str(files), "--corpus", "guests").code == 0
    asked = ("query", "When may guests come?", "--strategy", "bm25", "--corpus", "guests", "--json")

    def found(*pairs):
        where = [part for pair in pairs for part in ("--where", pair)]
        return {one["doc_id"] for one in rag(*asked, *where).json["contexts"]}

    assert found() == {"a.md", "b"}
    assert found("ward=3") == found("open=true") == found("tags=hours") == {"a.md"}
    assert found("floor=2") == {"b"}
    assert found("ward!=3", "floor=2") == {"b"}
    none = rag(*asked, "--where", "ward=9")
    assert (none.code, "No passage of corpus 'guests'" in none.err) == (1, True)
    compared = rag(
        "compare",
        "When may guests come?",
        "--strategies",
        "bm25,simple_semantic",
        "--corpus",
        "guests",
        "--where",
        "ward=4",
        "--json",
    ).json
    assert [{one["doc_id"] for one in trace["contexts"]} for trace in compared["traces"]] == [{"b"}, {"b"}]
    assert rag(*asked, "--where", "ward").code == 2
