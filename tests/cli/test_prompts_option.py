"""`rag query --show-prompts`: what was sent, for people and in a key of its own in the JSON."""

from helpers.provider_lab import provider_lab

from rag_core.cli.show import prompts_json, show_prompts

ASKED = ("query", "When is anti-D given?", "--strategy", "hyde")


def test_the_offline_engine_lists_fields_and_says_that_no_text_was_sent(ready, rag):
    shown = rag(*ASKED, "--show-prompts").out
    assert "The offline engine was sent no text" in shown
    assert "Hyde: prompt hypothetical to offline-extractive" in shown
    assert "question: When is anti-D given?" in shown
    assert "Hyde: prompt" not in rag(*ASKED).out


def test_the_json_has_them_only_when_asked(ready, rag):
    assert "prompts" not in rag(*ASKED, "--json").json
    first, second = rag(*ASKED, "--show-prompts", "--json").json["prompts"]
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
