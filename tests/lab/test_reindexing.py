"""A corpus indexed in another way, by the page's job and by `rag index`: no file is needed, all searches go on."""

import json

import pytest

from rag_core.indexing import Chunking, Upload
from rag_core.jobs import Jobs, start_reindexing
from rag_core.lab.adding import add_files, reindex
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.values.errors import ConfigError, DataError
from rag_core.values.settings import Settings

SENTENCES = "".join(f"Rule {number}: visitors of room {number} wash their hands first. " for number in range(40))
RULES = Upload("rules.txt", SENTENCES.encode())


@pytest.fixture
def settings(lab: Lab, settings: Settings) -> Settings:
    add_files([RULES], "ward", settings, lab.engines)
    return settings


def test_another_size_reaches_every_search_and_the_identity_of_results(lab, settings):
    ward = open_lab("ward", settings=settings, engines=lab.engines)
    before, engine = len(ward.index.passages), ward.engine
    report = reindex("ward", Chunking(64, 16), settings, lab.engines, enrich=True)
    assert report.enriched is not None
    assert ward.enriched.passages.keys() == ward.index.passages.keys()
    assert len(ward.index.passages) > before
    assert all(lab.engines.embedder.count(one.indexed_text) <= 64 * 1.5 for one in ward.index.passages.values())
    assert ward.engine["index_content"] != engine["index_content"]
    assert ward.run("Who washes their hands in room 7?", "contextual").ranking.hits
    (added,) = add_files([RULES], "ward", settings, lab.engines).files
    assert added.status == "unchanged"
    assert ward.index.manifest.chunking == Chunking(64, 16)


def test_contexts_can_be_taken_away_again(lab, settings):
    ward = open_lab("ward", settings=settings, engines=lab.engines)
    reindex("ward", Chunking(), settings, lab.engines, enrich=True)
    assert ward.enriched is not None
    reindex("ward", Chunking(), settings, lab.engines, enrich=False)
    assert ward.enriched is None


def test_an_index_of_an_earlier_version_is_made_again_without_alarm(lab, settings):
    reindex("ward", Chunking(), settings, lab.engines, enrich=True)
    manifests = list((settings.home / "corpora").rglob("manifest.json"))
    for path in manifests:
        written = json.loads(path.read_text())
        path.write_text(json.dumps({**written, "format": written["format"] - 1}))
    assert len(manifests) == 2
    ward = open_lab("ward", settings=settings, engines=lab.engines)
    assert ward.warnings == []
    assert ward.enriched.passages.keys() == ward.index.passages.keys()
    assert ward.run("Who washes their hands in room 7?", "bm25").ranking.hits


def test_what_cannot_be_done_is_refused(lab, settings):
    with pytest.raises(ConfigError, match="keeps its contexts"):
        reindex("obstetrics", Chunking(), settings, lab.engines, enrich=False)
    with pytest.raises(DataError, match="no documents to cut"):
        reindex("nothing", Chunking(), settings, lab.engines, enrich=False)


def test_it_runs_as_a_background_job(lab, settings):
    jobs = Jobs()
    job = start_reindexing(jobs, lambda: lab.engines, settings, "ward", Chunking(64), enrich=False)
    assert job.wait(60)
    assert job.status.phase == "done", job.status
    assert jobs.all("reindex") == [job]
    assert open_lab("ward", settings=settings, engines=lab.engines).index.manifest.chunking == Chunking(64)


def test_rag_index_takes_size_and_overlap_and_keeps_them(rag, ready, tmp_path, monkeypatch):
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    path = tmp_path / "rules.txt"
    path.write_bytes(RULES.content)
    run = ("index", str(path), "--corpus", "sizes", "--json")
    whole = rag(*run).json["passages"]
    smaller = rag(*run, "--chunk-size", "64", "--overlap", "10").json["passages"]
    assert smaller > whole
    assert rag(*run).json["passages"] == smaller
    assert rag(*run, "--chunk-size", "0", "--overlap", "0").json["passages"] == whole


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--chunk-size", "10"], "A chunk size of 10 word pieces is out of range. Use 64 to 400"),
        (["--overlap", "-1"], "An overlap of -1 word pieces is out of range"),
        (["--chunk-size", "100", "--overlap", "60"], "An overlap of 60 word pieces is out of range. Use 0 to 50"),
    ],
)  # fmt: skip
def test_a_value_out_of_range_or_without_a_path_is_wrong_usage(rag, ready, tmp_path, options, told):
    (tmp_path / "a.txt").write_text("Text.")
    ran = rag("index", str(tmp_path / "a.txt"), "--corpus", "sizes", *options)
    assert ran.code == 2
    assert told in " ".join(ran.err.split())
    assert rag("index", "--check", *options).code == 2, "there is no path"
