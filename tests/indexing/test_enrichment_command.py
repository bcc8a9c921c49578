import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.behaviours import Reply, Status
from helpers.openai_server import OpenAIServer
from helpers.small import ROOT
from helpers.source_files import write

from rag_core.documents.asked import WRITTEN, asked_folder, read_asked
from rag_core.indexing import EnrichmentEstimate, OfflineEnricher, write_questions
from rag_core.language.thesaurus import Thesaurus
from rag_core.prompts.prompt import QUESTIONS_PROMPT
from rag_core.testing import ScriptedLlm
from rag_core.values.errors import Stopped
from rag_core.values.pricing import PriceList
from rag_core.values.types import Passage


class TestBuiltIn:
    def test_both_indexes_hold_the_same_passages(self, lab):
        assert list(lab.enriched.passages) == list(lab.index.passages)
        for identity, passage in lab.enriched.passages.items():
            assert passage.context
            assert replace(passage, context="") == lab.index.passages[identity]

    def test_opening_it_again_writes_nothing(self, lab, real_home):
        (current,) = (real_home / "corpora").glob("obstetrics/*+enriched/CURRENT")
        before = current.stat().st_mtime_ns
        enricher = OfflineEnricher(Thesaurus.read(ROOT / "data" / "thesaurus.toml"))
        assert lab._store.enriched.follow(lab.index, enricher) is None
        assert current.stat().st_mtime_ns == before


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    tides, moon = "# Tides\n\nThe sea rises and falls twice a day.\n", "# Moon\n\nThe moon pulls the sea.\n"
    return write(tmp_path / "notes", {"tides.md": tides, "moon.md": moon})


@pytest.fixture
def server(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """A provider that writes every context alike, and a question for each passage; the environment names it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    server.choose = lambda body: Reply("What moves?" if WANTED in str(body) else "On the sea and the moon.")
    return server


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A prompt of one's own."""
    path = tmp_path / "mine.txt"
    path.write_text("Place this in {title}: {passage}\n")
    return path


WANTED = "Given the contextual information, generate"  # in the prompt for questions
ENRICH = ("--corpus", "tides", "--enrich", "--json", "--yes")


class TestCommand:
    def test_the_flags_of_contextual_search_a_corpus_without_contexts_as_it_is(self, notes, rag):
        rag("index", str(notes), "--corpus", "tides")
        query = ("query", "How often does the sea rise?", "--corpus", "tides", "--json")
        ran = rag(*query, "--search-type", "vector")
        assert ran.json["controls"]["enriched"] is False
        assert "has no passage contexts" in ran.err
        assert rag(*query, "--search-type", "vector", "--set", "enriched=true").code == 1
        assert rag(*query, "--strategy", "contextual").code == 1

    def test_enrich_makes_both_indexes_and_a_later_plain_run_keeps_both_current(self, notes, rag):
        first = rag("index", str(notes), "--corpus", "tides", "--enrich", "--json").json
        assert first["added"] == ["moon.md", "tides.md"]
        made = first["enriched"]
        assert made["enricher"].startswith("offline/")
        assert (made["passages"], made["calls"], made["cost_usd"], made["without_context"]) == (2, 0, 0, 0)
        (notes / "moon.md").write_text("# Moon\n\nThe moon has no sea.\n")
        later = rag("index", str(notes), "--corpus", "tides", "--json").json
        assert later["changed"] == ["moon.md"]
        assert later["enriched"]["embedded"] == 1
        assert rag("index", str(notes), "--corpus", "tides", "--json").json["enriched"] is None

    def test_it_needs_a_path(self, rag):
        ran = rag("index", "--check", "--enrich")
        assert ran.code == 2
        assert "--enrich" in ran.err

    def test_a_configured_model_writes_the_contexts_and_its_bill_is_shown(self, notes, rag, server, monkeypatch):
        monkeypatch.setenv("RAG_REWRITER_MODEL", "gpt-4o")
        server.script += [Reply("On the sea and the moon.", usage=(1000, 200))] * 2
        server.script += [Reply("Who rose?", usage=(1000, 100))] * 2
        ran = rag("index", str(notes), "--corpus", "tides", "--enrich", "--yes")
        assert ran.code == 0
        assert "Contexts by gpt-4o: 2 calls, about" in ran.err
        # gpt-4o: 2.50 and 10 dollars a million; twice 1000 in and 200 out = 0.0090
        assert "2 of 2 passages, 2 newly embedded, 2 calls for $0.009000" in " ".join(ran.out.split())
        # twice 1000 in and 100 out = 0.0070
        assert "questions of 2 of 2 passages, 2 calls for $0.007000" in " ".join(ran.out.split())
        (notes / "moon.md").write_text("# Moon\n\nThe moon has no sea.\n")
        later = rag("index", str(notes), "--corpus", "tides")
        assert "rag index PATH --corpus tides --enrich" in later.out
        assert len(server.requests) == 4

    def test_nothing_is_paid_without_consent(self, notes, rag, server, monkeypatch):
        asked = ("index", str(notes), "--corpus", "tides", "--enrich")
        ran = rag(*asked)
        assert ran.code == 1
        assert "documents are indexed. Writing their contexts would cost at most about $" in ran.err
        assert "Add --yes" in ran.err
        assert rag(*asked[:-1], "--json").json["unchanged"] == ["moon.md", "tides.md"]
        monkeypatch.setenv("RAG_EMBEDDING", "openai:text-embedding-3-small")
        ran = rag(*asked)
        assert ran.code == 1
        assert "Embedding the documents would cost at most about $" in ran.err
        assert server.requests == []

    def test_another_prompt_is_what_is_sent_and_writes_every_context_again(self, notes, rag, server, mine):
        asked = ("index", str(notes), *ENRICH)
        usual = rag(*asked).json["enriched"]["enricher"]
        assert usual.endswith("/enrich")
        server.requests.clear()
        own = rag(*asked, "--context-prompt", str(mine)).json["enriched"]["enricher"]
        assert own.startswith(f"{usual}-")
        assert sorted(request.messages[1][1] for request in server.requests) == [
            "Place this in Moon: The moon pulls the sea.",
            "Place this in Tides: The sea rises and falls twice a day.",
        ]
        server.requests.clear()
        assert rag(*asked, "--context-prompt", str(mine)).json["enriched"] is None
        assert server.requests == []

    def test_a_prompt_of_ones_own_is_kept_until_the_standard_one_is_asked_for(self, notes, rag, server, mine):
        asked = ("index", str(notes), *ENRICH)
        first = rag(*asked, "--context-prompt", str(mine)).json
        assert first["notes"] == []
        mine.unlink()
        (notes / "moon.md").write_text("# Moon\n\nThe moon has no sea.\n")
        server.requests.clear()
        again = rag(*asked).json
        assert again["enriched"]["enricher"] == first["enriched"]["enricher"]
        sent = [request.messages[1][1] for request in server.requests]
        assert [one for one in sent if WANTED not in one] == ["Place this in Moon: The moon has no sea."]
        assert ["--context-prompt standard" in note for note in again["notes"]] == [True]
        back = rag(*asked, "--context-prompt", "standard").json
        assert back["enriched"]["enricher"].endswith("/enrich")
        assert back["notes"] == []
        assert rag(*asked).json["enriched"] is None

    def test_a_prompt_that_cannot_work_is_refused_before_anything_is_written(
        self, notes, rag, server, monkeypatch, tmp_path
    ):
        bad = tmp_path / "bad.txt"
        bad.write_text("Place it in {title} of {library}")
        asked = ("index", str(notes), "--corpus", "tides", "--context-prompt", str(bad))
        assert rag(*asked).code == 2
        with monkeypatch.context() as offline:
            offline.setenv("RAG_LLM", "offline")
            assert "needs a language model" in rag(*asked, "--enrich").err
        ran = rag(*asked, "--enrich")
        assert ran.code == 2
        assert "'enrich' is missing {passage}" in ran.err
        bad.write_text(" ")
        assert "is empty" in rag(*asked, "--enrich").err
        assert server.requests == []

    def test_a_model_that_fails_leaves_plain_passages_and_says_so(self, notes, rag, server, monkeypatch):
        monkeypatch.setenv("RAG_REWRITER_MODEL", "gpt-4o")
        server.script += [Status(401)] * 2
        ran = rag("index", str(notes), "--corpus", "tides", "--enrich", "--yes")
        assert ran.code == 0
        assert "failed contexts: 2 of 2 passages have no context and stay plain" in ran.out
        assert "run the same command again" in ran.out
        assert "sk-test" not in ran.out + ran.err


class TestQuestions:
    """What a model writes for `rag index --enrich` beside the contexts: a call a passage, once for its text."""

    @pytest.fixture
    def server(self, server: OpenAIServer) -> OpenAIServer:
        def choose(body: dict[str, Any]) -> Reply:
            if WANTED not in str(body):
                return Reply("On the sea and the moon.")
            asked = "the moon" if "The moon" in str(body) else "the tides"
            return Reply(f"Here they are:\n1. What is {asked}?\n- **Who saw {asked}?**\n")

        server.choose = choose
        return server

    @staticmethod
    def asked_for_questions(server: OpenAIServer) -> int:
        return sum(WANTED in str(one.body) for one in server.requests)

    def test_each_text_is_asked_for_once_and_its_questions_are_kept(self, notes, rag, server):
        home = Path(os.environ["RAG_HOME"])
        first = rag("index", str(notes), *ENRICH)
        assert "Questions by" in first.err
        assert [first.json["questions"][name] for name in ("passages", "calls", "without_context")] == [
            2,
            2,
            0,
        ]
        kept = read_asked(asked_folder(home, "tides"))
        assert {(one.document, one.question) for one in kept} == {
            ("moon.md", "What is the moon?"),
            ("moon.md", "Who saw the moon?"),
            ("tides.md", "What is the tides?"),
            ("tides.md", "Who saw the tides?"),
        }
        again = rag("index", str(notes), *ENRICH)
        assert (again.json["questions"]["passages"], again.json["questions"]["calls"]) == (2, 0)
        (notes / "moon.md").write_text("# Moon\n\nThe moon has no sea.\n")
        assert rag("index", str(notes), *ENRICH).json["questions"]["calls"] == 1
        assert self.asked_for_questions(server) == 3
        assert len(read_asked(asked_folder(home, "tides"))) == 4  # those of the earlier text went
        rag("forget", str(notes / "moon.md"), "--yes")
        assert {one.document for one in read_asked(asked_folder(home, "tides"))} == {"tides.md"}

    def test_what_fails_is_said_and_asked_for_again(self, notes, rag, server):
        choose, failing = server.choose, [True]

        def sometimes(body: dict[str, Any]) -> Reply:
            reply = choose(body)
            return Reply("I cannot.") if failing and "What is the moon?" in reply.text else reply

        server.choose = sometimes
        ran = rag("index", str(notes), *ENRICH).json
        assert (ran["questions"]["passages"], ran["questions"]["without_context"]) == (2, 1)
        assert [one["file"] for one in ran["failed"]] == ["questions"]
        assert "1 of 2 passages have no questions" in ran["failed"][0]["reason"]
        failing.clear()
        again = rag("index", str(notes), *ENRICH).json["questions"]
        assert (again["passages"], again["without_context"], again["calls"]) == (2, 0, 1)
        assert self.asked_for_questions(server) == 3

    def test_a_run_that_is_stopped_goes_on_where_it_was(self, tmp_path, server, monkeypatch):
        monkeypatch.setattr("rag_core.indexing.enrich.BATCH", 2)
        passages = [Passage(f"d:{place}:{place:08d}", "d", "T", f"Text {place}.") for place in range(5)]
        llm, stopped = ScriptedLlm("When is it?\nWho is it?"), [Stopped()]

        def progress(done: int, total: int) -> None:
            if done == 4 and stopped:
                raise stopped.pop()

        told: list[EnrichmentEstimate] = []
        more = (asked_folder(tmp_path, "notes") / WRITTEN, passages, llm, PriceList({}), told.append, progress)
        with pytest.raises(Stopped) as ended:
            write_questions(*more)
        assert len(ended.value.calls) == len(llm.prompts) == 4
        written = write_questions(*more)
        assert (written.passages, written.without_context, len(written.calls)) == (5, 0, 1)
        assert [(one.what, one.calls, one.known) for one in told] == [
            ("Questions", 5, 0),
            ("Questions", 1, 4),
        ]
        assert len(read_asked(asked_folder(tmp_path, "notes"))) == 10

    def test_the_prompt_is_that_of_llamaindex_without_summaries(self):
        from llama_index.core.extractors.metadata_extractors import DEFAULT_QUESTION_GEN_TMPL

        theirs = " ".join(DEFAULT_QUESTION_GEN_TMPL.partition("Higher-level")[0].split())
        assert " ".join(QUESTIONS_PROMPT.text.split()) == theirs
