from typing import Any

import pytest
from helpers.behaviours import Endless, Reply
from helpers.looping import for_each
from helpers.provider_calls import PROMPT, ask, billed, failure_of, never
from helpers.provider_lab import obliging

from rag_core.evaluation.answer_scores import judge
from rag_core.indexing.enrich import DocumentPassages, LlmEnricher
from rag_core.models.reply import MAX_REPLY, WithoutReasoning
from rag_core.models.tokenizer import count_tokens
from rag_core.pipeline.stream import Token
from rag_core.prompts.replies import Restart
from rag_core.runtime.context import Context
from rag_core.testing import sample_services
from rag_core.values.types import Passage

QUESTION = "Do cats and dogs sleep in one house?"
# as a careless model thinks: a citation of no source, our words for no answer, and a score of its own
THOUGHT = 'The cats come first [7]. NOT_ENOUGH_EVIDENCE? Perhaps {"reason": "no", "score": 3}, I wonder.'
TAGS = {
    "think": ("<think>", "</think>"),
    "a longer name": ("\n<inner_thoughts>", "</inner_thoughts>"),
    "capitals": ("<Reasoning>", "</reasoning>"),
    "with an attribute": ('<thinking mode="deep">', "</thinking>"),
    "two words": ("<thought process>", "</thought process>"),
    "of Seed": ("<seed:think>", "</seed:think>"),
    "of Magistral": ("[THINK]", "[/THINK]"),
    "of Kimi": ("◁think▷", "◁/think▷"),
    "of OpenThinker": ("<|begin_of_thought|>", "<|end_of_thought|>"),
    "of Cohere": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "of MedGemma": ("<unused94>thought\n", "<unused95>"),
    "of gpt-oss": ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    "of gpt-oss without its signs": ("analysis", "assistantfinal"),
    "of gpt-oss without its signs, several": ("analysisWe need to look.assistantanalysis", "assistantfinal"),
    "of Open WebUI": (
        '<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n> ',
        "\n</details>",
    ),
    "a fold": ("<details>\n<summary>Thinking…</summary>\n\n", "\n\n</details>"),
    "a fold with a sign": ("<details open><summary>💭 Thought process</summary>", "</details>"),
    "two folds": (
        "<details><summary>Thinking...</summary>First.</details>\n<details class='thinking'>",
        "</details>",
    ),
    "a fold in a fold": (
        '<details type="reasoning">The doses: <details><summary>Notes</summary>one</details> and',
        "</details>",
    ),
    "a fold in a fold by its title": (
        "<details><summary>Thinking</summary><details>one</details>",
        "</details>",
    ),
    "of gpt-oss without its signs, in lower case": ("analysisthe user asks of cats. ", "assistantfinal"),
    "not opened": ("", "</think>"),
    "not opened, without signs": ("analysis ", "assistantfinal"),
    "two blocks": ("<think>First.</think>\n<think>", "</think>"),
    "nested": ("<think><think>", "</think></think>"),
}


CERTAIN = (  # wherever they stand
    "think", "of Kimi", "of OpenThinker", "of Cohere", "of MedGemma", "of gpt-oss", "of Open WebUI", "a fold in a fold",
)  # fmt: skip


def thinking(tags: tuple[str, str], thought: str = THOUGHT):
    """The obliging server, which thinks aloud first."""

    def choose(body: dict[str, Any]) -> Reply:
        said = obliging(body)
        return said if "input" in body else Reply(f"{tags[0]}{thought}{tags[1]}\n\n{said.text}", said.usage)

    return choose


def left_of(said: str, size: int) -> str:
    """What is left of a reply that arrives in pieces of this size."""
    taken, text = WithoutReasoning(), ""
    pieces = [said[start : start + size] for start in range(0, len(said), size)]
    for piece in [*(taken.take(one) for one in pieces), taken.take("", last=True)]:
        text = piece if isinstance(piece, Restart) else text + piece
    return text


class TestReasoningInsideTheContent:
    def test_no_role_of_a_strategy_reads_it(self, base, animals):
        """Rewrites, judge and answer: the same as of a model that does not think aloud."""
        chosen = ("rag_msr", {"theta": 0})
        plain = animals.run(QUESTION, chosen)
        assert plain.answer.text == "Cats and dogs can live in one house [1]."
        base.choose = thinking(TAGS["think"])
        trace = animals.run(QUESTION, chosen)
        assert trace.answer.text == plain.answer.text
        assert [one.text for one in trace.final.queries] == [one.text for one in plain.final.queries]
        assert [hit.score for hit in trace.ranking] == [hit.score for hit in plain.ranking]
        assert trace.warnings == plain.warnings

    def test_nor_does_hyde_nor_the_judge_of_answers_nor_enrichment(self, base, animals, llm, prices, tmp_path):
        trace = animals.run(QUESTION, "bm25")
        base.choose = thinking(TAGS["think"])
        assert animals.run(QUESTION, "hyde").final.queries[0].passages == (
            "Cats and dogs sleep in one house when they meet young.",
        )
        base.choose = lambda body: Reply(f'<think>{THOUGHT}</think>{{"faithfulness": 90, "relevance": 70}}')
        found, _ = judge(trace, Context(sample_services(llm=llm)))
        assert (found.faithfulness, found.relevance) == (90, 70)
        base.choose = lambda body: Reply(f"<think>{THOUGHT}</think>\nFrom a book about cats.")
        enricher = LlmEnricher(llm, prices, tmp_path / "contexts.sqlite")
        passages = (Passage("a", "a", "Cats", "Cats purr."),)
        written = enricher.enrich([DocumentPassages("Cats purr.", passages)], lambda done, total: None)
        assert written.contexts == ("From a book about cats.",)

    def test_it_does_not_count_towards_the_limit_and_is_billed(self, base, llm):
        thought = f"Let me weigh {'this' * 200} once more. " * (2 * MAX_REPLY // 800)
        assert len(thought) > MAX_REPLY
        base.script.append(Reply(f"<think>{thought}</think>Cats purr.", usage=None))
        pieces, bill = ask(llm)
        assert ("".join(pieces), bill.finish) == ("Cats purr.", "stop")
        assert bill.output_tokens == count_tokens(f"<think>{thought}</think>Cats purr.")

    @pytest.mark.parametrize("finish", ["stop", "length"])
    @pytest.mark.parametrize("tags", [TAGS["think"], TAGS["of gpt-oss"]], ids=["think", "gpt-oss"])
    def test_a_block_that_never_ends_is_no_answer_and_is_billed(self, base, llm, finish, tags):
        base.script.append(Reply(tags[0] + THOUGHT, finish=finish))
        bills, error = billed(llm)
        assert "before the model had finished its reasoning" in error.message
        assert "output tokens" in error.next_step
        assert [bill.input_tokens for bill in bills] == [1000]

    def test_endless_reasoning_is_not_waited_for(self, base, llm):
        base.script.append(Endless("<think>" + "and yet " * 2_000))
        assert "finished its reasoning" in failure_of(llm).message
        assert base.gone.wait(10)

    def test_a_block_without_its_opening_tag_is_shown_once_at_most(self, base, llm):
        """The template opened it: that is known when it is closed, and from the next reply on before."""
        base.choose = lambda body: Reply("Hm, cats. </think>Cats purr.")
        first, second = ([*llm.stream(PROMPT, never)][:-1] for _ in range(2))
        restart = next(place for place, piece in enumerate(first) if isinstance(piece, Restart))
        assert "".join(first[restart:]) == "".join(second) == "Cats purr."
        base.choose = lambda body: Reply("Dogs bark.")
        assert "".join(ask(llm)[0]) == "Dogs bark.", "one that does not think is not lost"

    def test_what_was_shown_of_it_is_replaced(self, base, animals):
        base.choose = lambda body: Reply("Hm, cats. </think>Cats purr [1].")
        events = [one for one in animals.stream(QUESTION, ["bm25"]) if isinstance(one, Token)]
        assert "".join(one.text for one in events if not one.restart).startswith("Hm, cats. ")
        last = max(place for place, one in enumerate(events) if one.restart)
        assert "".join(one.text for one in events[last:]) == "Cats purr [1]."

    @for_each("size", [1, 2, 3, 7, 1000])
    @for_each("tags", TAGS.values(), ids=TAGS)
    def test_every_kind_is_taken_off_wherever_the_pieces_end(self, tags, size):
        assert left_of(f"{tags[0]}{THOUGHT}{tags[1]} Cats purr.", size) == "Cats purr."

    @for_each("size", [1, 3, 1000])
    @for_each("kind", CERTAIN)
    def test_between_two_parts_of_an_answer_too(self, kind, size):
        opens, closes = TAGS[kind]
        said = f"Cats purr [1].\n{opens}{THOUGHT}{closes}\n\nDogs bark [2]."
        assert left_of(said, size) == "Cats purr [1].\nDogs bark [2]."

    @for_each("size", [1, 3, 1000])
    def test_a_tag_that_counts_only_at_the_start_hides_no_other(self, size):
        assert left_of("Cats [THINK] first. <think>Hm.</think>Dogs bark.", size) == "Cats [THINK] first. Dogs bark."

    @for_each("size", [1, 2, 3, 7, 1000])
    @for_each(
        "text",
        [
            "<b>Call 112 now</b> and lie down [1].",
            "<answer>Cats purr</answer>",
            "[Reasoning] is a word here, as is [THINK] later.",
            "< 5 weeks: rest. <think of it",
            "Rising pressure (<90) or [1] and <|x|> stay.",
            "analysis of the urine finds protein [1].",
            "Analysis: the assistant finally rests; an assistant",
            "Analysis\n\nCats purr.",
            "analysis",
            "analysis: “Cats purr”",
            "analysis the cats come first",
            "Analysis of your urine finds protein [1].",
            "Cats purr; analysisthe is no word.",
            "<details><summary>Doses by weight</summary>See [1].</details>",
            "<details>\n<summary>Thinking about a second baby?</summary>\nWait a year [1].</details>",
            "<details><summary>Thought for the night</summary>Rest.</details>",
            '<details class="reasons">Cats purr [1].</details>',
            "Cats purr. <details><summary>Thinking…</summary>is a title here.</details>",
            "Cats purr [1].\n<details><summary>Sources</summary><details>One</details>[1]</details>\nDogs bark.",
            "<details> is a tag",
            "<details><summary>Thinking",
        ],
    )
    def test_anything_else_is_the_answer(self, text, size):
        assert left_of(text, size) == text

    @for_each("size", [1, 3, 1000])
    @for_each(
        "cut",
        [
            "analysisThe cats come first",
            "analysisthe cats come first",
            "<details><summary>Thinking…</summary>\nCats",
            '<details type="reasoning">Cats <details>come</details> first',
            "<think>Cats",
        ],
    )
    def test_one_that_was_cut_off_is_no_answer(self, cut, size):
        taken = WithoutReasoning()
        pieces = [taken.take(cut[start : start + size]) for start in range(0, len(cut), size)]
        assert ("".join(pieces) + taken.take("", last=True), taken.inside) == ("", True)

    def test_a_block_after_the_answer_is_taken_off_too(self, base, llm):
        base.script.append(Reply("Cats purr [1]. <reflection>Was that right?</reflection>"))
        assert "".join(ask(llm)[0]).rstrip() == "Cats purr [1]."
