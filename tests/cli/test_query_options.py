"""`rag query` with its options: the fates of passages, the prompts as sent, and models and corpora for each label."""

import pytest
from helpers.openai_server import OpenAIServer
from helpers.provider_lab import QUESTION, provider_lab
from helpers.small import WordEmbedder

from rag_core.cli.options import parse_columns
from rag_core.cli.show import prompts_json, show_prompts
from rag_core.explain import fates
from rag_core.indexing import CorpusIndex, CorpusStore
from rag_core.values.labels import LabelRules


@pytest.fixture
def opened(
    server: OpenAIServer,
    store: CorpusStore,
    index: CorpusIndex,
    embedder: WordEmbedder,
    labels: LabelRules,
    monkeypatch: pytest.MonkeyPatch,
) -> list[str]:
    """The corpora that commands open; each is the same small lab."""
    names: list[str] = []
    lab = provider_lab(server, store, embedder, labels)

    def other(corpus: str, asked: object = ()) -> object:
        names.append(corpus)
        return lab

    monkeypatch.setattr("rag_core.cli.app._lab", other)
    lab.others = other  # type: ignore[assignment]
    return names


def test_the_model_of_a_query(rag, opened):
    ran = rag("query", QUESTION, "--strategy", "bm25", "--model", "gpt-4o-mini")
    assert ran.code == 0, ran.err
    assert "[gpt-4o-mini]" in ran.out


def test_the_first_strategys_corpus_is_opened_and_the_others_beside_it(rag, opened):
    ran = rag("compare", QUESTION, "--strategies", "a=bm25,b=bm25", "--corpus", "leaflets", "--corpus", "b=ward")
    assert ran.code == 0, ran.err
    assert opened == ["leaflets", "leaflets", "ward"]
    assert "corpus=ward" in ran.out


def test_a_value_alone_is_for_all_and_a_label_overrides_it():
    found = parse_columns("a=bm25,b=bm25", ["a.k1=1.2"], ["gpt-4o", "b=x=1"], [])
    assert found == {"a": ("bm25", {"k1": "1.2", "model": "gpt-4o"}), "b": ("bm25", {"model": "x=1"})}


@pytest.mark.parametrize("option", ["--model", "--corpus"])
@pytest.mark.parametrize("given", [["c=x"], ["a="], ["a=x", "a=y"], ["x", "y"]])
def test_wrong_usage_names_the_labels(rag, option, given):
    ran = rag("compare", QUESTION, "--strategies", "a=bm25,b=bm25", *(f"{option}={one}" for one in given))
    assert ran.code == 2
    assert "the labels are a, b" in " ".join(ran.err.split())


HYBRID = ("query", "When is anti-D given?", "--strategy", "hybrid_rrf")


def test_every_passage_has_a_line_with_its_fate(ready, rag, lab):
    found = fates(lab.run(HYBRID[1], HYBRID[3]))
    lines = rag(*HYBRID, "--fates").out.splitlines()
    (start,) = [place for place, line in enumerate(lines) if line.startswith("  Found ")]
    used = sum(fate.used for fate in found)
    assert lines[start].startswith(f"  Found {len(found)} passages: {used} used, ")
    assert lines[start + 1] == "  Limits, as `--set` takes them: k_rrf_pool=10."
    table = [line for line in lines[start + 2 :] if line.strip()]
    assert len(table) == len(found)
    for line, fate in zip(table, found, strict=True):
        assert line.startswith(f"  {fate.text}  ")
        assert line.rstrip().endswith(fate.passage.full_title[-10:])


def test_a_long_table_is_cut_and_says_so(ready, rag):
    ran = rag("query", HYBRID[1], "--strategy", "contextual", "--set", "k_candidates=100", "--fates")
    *_, last = [line for line in ran.out.splitlines() if line.strip()]
    assert last.startswith("  and ")
    assert last.endswith(" more; `--json` lists all.")


def test_the_json_has_them_only_when_asked(ready, rag, lab):
    assert "fates" not in rag(*HYBRID, "--json").json
    shown = rag(*HYBRID, "--fates", "--json").json["fates"]
    found = fates(lab.run(HYBRID[1], HYBRID[3]))
    assert [one["text"] for one in shown["passages"]] == [fate.text for fate in found]
    assert [one["retriever"] for one in shown["lists"]] == ["bm25", "dense", "", "", "", ""]
    assert {place["list"] for one in shown["passages"] for place in one["places"]} <= set(range(6))


HYDE = ("query", "When is anti-D given?", "--strategy", "hyde")


def test_the_offline_engine_lists_fields_and_says_that_no_text_was_sent(ready, rag):
    shown = rag(*HYDE, "--show-prompts").out
    assert "The offline engine was sent no text" in shown
    assert "Hyde: prompt hypothetical to offline-extractive" in shown
    assert "question: When is anti-D given?" in shown
    assert "Hyde: prompt" not in rag(*HYDE).out


def test_the_json_has_prompts_only_when_asked(ready, rag):
    assert "prompts" not in rag(*HYDE, "--json").json
    first, second = rag(*HYDE, "--show-prompts", "--json").json["prompts"]
    assert (first["stage"], first["prompt"], first["offline"], first["text"]) == (
        "Hyde",
        "hypothetical",
        True,
        None,
    )
    assert (second["stage"], second["purpose"]) == ("Generate", "answer")


def test_a_provider_is_shown_with_the_texts_it_got(server, read_only_store, embedder, labels, capsys):
    lab = provider_lab(server, read_only_store, embedder, labels, openai_api_key="sk-0123456789abcdef")
    trace = lab.run("Do cats and dogs sleep in one house?", "bm25")
    ((_, system), (_, user)) = server.requests[0].messages
    (found,) = prompts_json(trace)
    assert (found["system"], found["text"]) == (system, user)
    assert (found["input_tokens"], found["output_tokens"], found["counted_by"]) == (1000, 200, "provider")
    show_prompts(trace)
    printed = " ".join(capsys.readouterr().out.split())
    assert " ".join(system.split()) in printed
    assert "1,000 tokens in, 200 out, counted by provider" in printed
