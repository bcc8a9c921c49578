import re
from dataclasses import replace

import pytest
from helpers.looping import for_each
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pages.compare.answers import _written
from pages.compare.passages import doubts
from rag_core.cli import show
from rag_core.pipeline.strategy import Strategy
from rag_core.runtime.services import Services
from rag_core.stages import Bm25, Dense, Generate, Retrieve
from rag_core.stages.answer import reconciled
from rag_core.stages.citations import MARKER, claims, resolve_citations
from rag_core.testing import ScriptedLlm
from rag_core.values.answers import Answer, Citation, Grounded
from rag_core.values.markers import without_markers, without_references
from rag_core.values.trace import Trace
from rag_core.values.types import Hit, Passage


def hit(text: str, language: str = "en", title: str = "") -> Hit:
    return Hit(Passage(f"id of {text}", "doc", title, text, "", language), 0.5, "cosine")


CATS = hit("Cats nap in the sun. Cats purr when happy.")
DOGS = hit("Dogs bark at strangers. Dogs fetch sticks.")
FISH = hit("Fish swim in schools.")
THREE = [CATS, DOGS, FISH]


@for_each(
    ("spelt", "read"),
    [
        ("[1-2]", "[1][2]"),
        ("[1–3]", "[1][2][3]"),
        ("[1 - 3]", "[1][2][3]"),
        ("[2-2]", "[2]"),
        ("[3-1]", "[3][1]"),
        ("[1, 2-3]", "[1][2][3]"),
        ("[1,2,1]", "[1][2]"),
        ("[ 1 ]", "[1]"),
        ("[Source 1]", "[1]"),
        ("[source 1, 2]", "[1][2]"),
        ("[Source 1; Source 3]", "[1][3]"),
        ("[Sources 1 and 2]", "[1][2]"),
        ("[SOURCE #2]", "[2]"),
        ("[Ref. 2]", "[2]"),
        ("[Fuente 1]", "[1]"),
        ("[fuentes 1 y 2]", "[1][2]"),
        ("【1】", "[1]"),
        ("【2†source】", "[2]"),
        ("【1】【3】", "[1][3]"),
        ("(Source 2)", "[2]"),
        ("(fuentes 1, 2 y 3)", "[1][2][3]"),
        ("[^1]", "[1]"),
        ("[1][2]", "[1][2]"),
        ("[1, 2]", "[1][2]"),
        ("[1 y 2]", "[1][2]"),
        ("[1 and 2]", "[1][2]"),
        ("[1, 2, and 3]", "[1][2][3]"),
        ("[1 & 2]", "[1][2]"),
        ("[01]", "[1]"),
        ("[١]", "[1]"),
    ],
)
def test_the_usual_spellings_of_a_marker_are_read(spelt, read):
    text, citations, invalid = resolve_citations(f"Cats purr {spelt}.", THREE)
    assert (text, invalid) == (f"Cats purr {read}.", 0)
    assert "".join(f"[{one.n}]" for one in citations) == read


@for_each(
    ("spelt", "left", "invalid"),
    [
        ("[2019]", "", 1), ("[4]", "", 1), ("[2-9]", " [2][3]", 1), ("[0-1]", " [1]", 1), ("[7-9]", "", 2),
        ("[1-99999999999]", " [1][2][3]", 1), (f"[{'9' * 5000}]", "", 1),
        (f"[1-{'9' * 5000}]", " [1][2][3]", 1), ("[Source 9]", "", 1), ("(Fuente 9)", "", 1), ("【9】", "", 1),
        ("[[9]1]", " [1]", 1),
    ],
)  # fmt: skip
def test_a_number_that_names_no_context_is_taken_out_and_counted(spelt, left, invalid):
    assert resolve_citations(f"Cats purr {spelt}.", THREE)[::2] == (f"Cats purr{left}.", invalid)


@for_each(
    "bracket",
    ["[sic]", "(2)", "[-1]", "[1.5]", "[]", "(2019)", "[1 mg]", "[see 1]", "[Source]", "(1-2)", "(1 and 2)"],
)
def test_brackets_that_are_no_markers_stay(bracket):
    said = f"Cats purr {bracket}."
    assert resolve_citations(said, THREE) == (said, (), 0)


PIECES = [
    *"[]()【】^#-–,;&. 0123459",
    " and ", " y ", "Source ", "Fuente ", "†", "Cats purr", "\n", "９", "١", "²", "9" * 30,
]  # fmt: skip
answers = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=25).map("".join))


@settings(deadline=None, max_examples=300)
@given(answers)
@example("【1†【2】】")
@example(f"[{'9' * 5000}-{'9' * 5001}]")  # more digits than int reads
@example("[[1][2]] (source [3]) [Source (source 2)]")
def test_nothing_in_a_text_without_its_markers_cites_and_no_number_is_lost(said):
    text = without_markers(said)
    assert resolve_citations(text, THREE) == (text.strip(), (), 0)
    assert re.findall(r"\d+", text) == re.findall(r"\d+", said)
    text = without_references(said)
    assert resolve_citations(text, THREE) == (text.strip(), (), 0)


@settings(deadline=None, max_examples=300)
@given(answers, st.integers(0, 3))
def test_any_text_resolves_to_valid_markers_and_then_to_itself(said, contexts):
    hits = THREE[:contexts]
    text, citations, invalid = resolve_citations(said, hits)
    numbers = [int(n) for n in MARKER.findall(text)]
    assert all(1 <= n <= contexts for n in numbers)
    assert invalid >= 0
    assert resolve_citations(text, hits) == (text, citations, 0)
    places = sorted(place for one in citations for place in one.markers)
    assert places == list(range(len(numbers)))
    assert all(numbers[place] == one.n for one in citations for place in one.markers)
    assert all(one.context_id == hits[one.n - 1].id for one in citations)


def verdict(claim: str, passage: Hit) -> bool | None:
    (one,) = resolve_citations(f"{claim} [1].", [passage])[1]
    return one.supported


class TestSupport:
    @pytest.mark.parametrize(
        ("claim", "supported"),
        [
            ("Happy cats are purring", True),  # 3 of 3
            ("Happy cats purr, drink milk and hunt", True),  # happi, cat, purr of 6: 1/2
            ("Purring cats like milk, mice, birds and string", False),  # purr, cat of 7 ("like" counts): 2/7
            ("Cats eat mice", True),  # 1/3, the threshold itself
            ("Cats eat mice daily", False),  # 1/4
            ("High fever is an emergency", False),  # 0 of 3
        ],
    )
    def test_a_quote_supports_a_claim_when_it_holds_a_third_of_its_content_words(self, claim, supported):
        assert verdict(claim, CATS) is supported

    def test_the_title_counts_as_it_is_shown_with_the_passage(self):
        claim = "Anti-D prophylaxis is given routinely"
        assert verdict(claim, hit("It comes at 28 weeks.")) is False
        assert verdict(claim, hit("It comes at 28 weeks.", title="Anti-D prophylaxis")) is True

    def test_a_claim_in_another_language_than_its_passage_is_not_checked(self):
        gatos = hit("Los gatos duermen toda la mañana.", "es")
        assert verdict("A high fever in the night is an emergency", gatos) is None
        assert verdict("La fiebre alta por la noche es una urgencia", gatos) is False
        assert verdict("La fiebre alta por la noche es una urgencia", CATS) is None
        assert verdict("Los gatos duermen mucho por la mañana", gatos) is True

    def test_a_quotation_is_supported_in_whatever_language_the_rest_is(self):
        gatos = hit("Los gatos duermen toda la mañana.", "es")
        said = "Cats nap in the warm sun and they purr when they are happy [1]. Los gatos duermen toda la mañana [2]."
        assert [one.supported for one in resolve_citations(said, [CATS, gatos])[1]] == [True, True]

    @pytest.mark.parametrize("claim", ["", "Yes", "It is so"])
    def test_a_claim_of_hardly_a_word_is_not_checked(self, claim):
        assert verdict(claim, CATS) is None

    def test_a_claim_is_the_sentence_before_the_marker_list_items_included(self):
        said = "High fever is an emergency.\n- Cats nap in the sun [1]\n- Dogs drive fast cars [2]"
        cats, dogs = resolve_citations(said, THREE)[1]
        assert (cats.quote, cats.supported) == ("Cats nap in the sun.", True)
        assert dogs.supported is False

    def test_the_claim_of_a_quoted_section_is_its_sentence_in_bold(self):
        said = "**Cats nap in the sun.** Cats purr when happy. [1]\n\nDogs bark at strangers. **Dogs:** Dogs fetch sticks. [2]"
        cats, dogs = resolve_citations(said, THREE)[1]
        assert (cats.quote, dogs.quote) == ("Cats nap in the sun.", "Dogs fetch sticks.")

    def test_sentences_in_bold_are_whole_and_without_its_signs(self):
        said = "Cats purr. **Cats nap in the sun.** Dogs bark [1]. **Dogs fetch [2]**."
        assert [(said[one.start : one.end], one.text) for one in claims(said)] == [
            ("Cats purr.", "Cats purr."),
            ("**Cats nap in the sun.**", "Cats nap in the sun."),
            ("Dogs bark [1].", "Dogs bark."),
            ("**Dogs fetch [2]**.", "Dogs fetch."),
        ]

    def test_one_context_cited_for_two_claims_has_a_verdict_for_each(self):
        said = "Cats nap in the sun [1]. Cats nap under heavy snow while volcanoes rumble nearby [1]. The sun cats nap in [1]."
        right, wrong = resolve_citations(said, [CATS])[1]
        assert (right.supported, right.markers) == (True, (0, 2))
        assert (wrong.supported, wrong.markers) == (False, (1,))


SAID = "Cats purr when they are happy [1]. High fever is always an emergency [1]. Los gatos ronronean mucho [1]."


@pytest.fixture
def trace(services: Services) -> Trace:
    """An answer with a citation of each kind, written from the one passage about purring."""
    strategy = Strategy("plain", (Retrieve((Bm25(k=1),)), Generate()))
    return strategy.run("When do happy cats purr?", replace(services, llms={"answer": ScriptedLlm(SAID)}))


def test_verdicts_reach_json_and_a_warning_counts_the_unsupported(trace):
    told = trace.as_json()
    assert [one["supported"] for one in told["answer"]["citations"]] == [True, False, None]
    assert all(set(one) == {"n", "context_id", "quote", "supported"} for one in told["answer"]["citations"])
    assert told["warnings"] == ["1 of 3 citations point to a passage that does not support the sentence."]


def test_verdicts_are_printed_in_words(trace, capsys):
    show.trace(replace(trace, engine={"llm": "scripted"}), details=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert "[1] unsupported: the closest sentence is “Cats purr when they are happy.”" in printed
    assert "[1] unclear: it is not clear whether the passage supports the sentence." in printed


def test_a_sentence_that_repeats_is_printed_once_with_its_count(trace, capsys):
    again = Grounded(0, 5, "Fever is rare.", "unsupported", reason="No passage is near.")
    once = replace(again, text="Cats are rare.")
    assert trace.answer
    *steps, last = trace.steps
    answer = replace(trace.answer, sentences=(*[again] * 31, once, again))
    steps.append(replace(last, after=replace(last.after, answer=answer)))
    show.trace(replace(trace, engine={"llm": "scripted"}, steps=tuple(steps)), details=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.count("Fever is rare.") == 1
    assert "unsupported (32 times): “Fever is rare.” No passage is near." in printed
    assert "unsupported: “Cats are rare.” No passage is near." in printed


def test_verdicts_are_shown_in_words_beside_the_marker_and_under_the_passage(trace):
    assert trace.answer
    openers = re.findall(
        r'<button type="button" class="([^"]*)" popovertarget="c0-p1" aria-label="([^"]*)">(.*?)</button>',
        _written(trace.answer, 0),
    )
    assert openers == [
        ("rl-cite", "Open passage 1", "1"),
        ("rl-cite rl-doubt", "Open passage 1, unsupported", "1 <small>unsupported</small>"),
        ("rl-cite rl-doubt", "Open passage 1, unclear", "1 <small>unclear</small>"),
    ]
    unsupported, unclear = doubts(trace.answer.citations)
    assert unsupported.startswith("<b>Unsupported citation.</b>")
    assert unclear.startswith("<b>Unclear citation.</b>")
    assert list(doubts([Citation(1, "a", "Cats purr.")])) == []


def test_bold_print_is_drawn_and_what_is_in_it_escaped():
    assert _written(Answer("**Rest <b>now.** 2 ** 3 [1]"), 0).startswith("<b>Rest &lt;b&gt;now.</b> 2 ** 3 ")
    assert _written(Answer("Cats purr [1]."), 0).count("<button ") == 1


def test_a_quotation_of_the_offline_kind_brings_no_warning(services):
    said = "Cats purr when they are happy. [1]"
    strategy = Strategy("plain", (Retrieve((Dense(k=1),)), Generate()))
    trace = strategy.run("When do happy cats purr?", replace(services, llms={"answer": ScriptedLlm(said)}))
    assert trace.warnings == ()


@pytest.mark.parametrize(
    ("support", "by", "supported"),
    [
        ("supported", (1,), True),
        ("supported", (2,), False),  # another passage supports the sentence
        ("weak", (1,), None),
        ("weak", (2,), False),
        ("unsupported", (), False),
    ],
)
def test_a_citation_is_judged_with_the_sentence_that_cites_it(support, by, supported):
    sentence = Grounded(0, 16, "Cats purr.", support, by)
    (judged,) = reconciled("Cats purr [1].", [Citation(1, "p", "", not supported, (0,))], [sentence])
    assert judged.supported is supported


def test_a_citation_of_no_compared_sentence_keeps_its_verdict():
    (kept,) = reconciled("Cats purr [1].", [Citation(1, "p", "", True, (0,))], [])
    assert kept.supported is True
