import unicodedata
from collections.abc import Sequence

import numpy as np
import pytest
from helpers.looping import for_each
from rank_bm25 import BM25Okapi

from rag_core.indexing.bm25 import Bm25Index
from rag_core.language.analysis import (
    ANALYSER,
    LANGUAGES,
    assuming,
    language_of,
    matches,
    query_tokens,
    sentences,
    stop_words,
    tokens,
)
from rag_core.language.highlight import Segment, highlight
from rag_core.language.punkt import trained


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("contraction", "contractions", "CONTRACTIONS")),
        ("en", ("bleed", "bleeds", "bleeding")),
        ("es", ("contracción", "contracciones", "contraccion")),
        ("es", ("hemorragia", "hemorragias")),
        ("es", ("vacunación", "vacunacion", "VACUNACIÓN")),
        ("fr", ("santé", "sante", "SANTÉ")),
    ],
)
def test_forms_of_one_word_are_one_term(language, words):
    terms = {tuple(tokens(word, language)) for word in words}
    assert len(terms) == 1
    assert len(terms.pop()) == 1


@pytest.mark.parametrize(("one", "other"), [("año", "ano"), ("años", "anos"), ("peña", "pena")])
def test_enye_is_a_letter_of_its_own(one, other):
    assert tokens(one, "es") != tokens(other, "es")
    assert tokens(one, "es") == tokens(one.upper(), "es") == tokens(unicodedata.normalize("NFD", one), "es")


def test_the_analyser_has_another_name_when_it_gives_other_terms():
    """An index made by another analyser is made again; terms that change need the name to change too."""
    sample = "Los niños de un año no sangran por el ano; náuseas, cesárea, ¿señales? Vitamin D at 28 weeks."
    terms = ["niñ", "año", "sangr", "ano", "naus", "cesare", "señal", "vitamin", "d", "at", "28", "weeks"]
    assert (ANALYSER, tokens(sample, "es")) == ("snowball-stems+nltk-stop-words/4", terms)


def test_a_word_typed_without_its_enye_finds_the_only_one_it_can_be():
    index = Bm25Index.fit([["niñ", "duerm"], ["ano", "dolor"], ["año", "dolor"]])
    for without_tilde, columns in (("nin", [0]), ("ano", [1]), ("año", [2]), ("an", [])):
        assert index.matches([without_tilde]).tolist() == columns
    assert index.scores(["nin"]).tolist() == index.scores(["niñ"]).tolist()
    two = Bm25Index.fit([["peñ", "x"], ["peñ", "y"], ["z"]])
    assert two.matches(["pen"]).tolist() == [0, 1]


@pytest.mark.parametrize("word", ["gestación", "náuseas", "cesárea", "bebé", "señal"])
def test_a_letter_and_its_separate_accent_are_the_same_letter(word):
    decomposed = unicodedata.normalize("NFD", word)
    assert decomposed != word
    assert tokens(decomposed, "es") == tokens(word, "es")
    assert matches(f"la {decomposed}", word, "es") == [(3, 3 + len(decomposed))]


@for_each(
    ("text", "language", "expected"),
    [
        ("vitamin D", "en", ["vitamin", "d"]),
        ("anti-D", "en", ["anti", "d"]),
        ("Hepatitis B or vitamin K?", "en", ["hepat", "b", "vitamin", "k"]),
        ("vitamina D", "es", ["vitamin", "d"]),
        ("estreptococo B", "es", ["estreptococ", "b"]),
        ("a T and I", "en", ["t"]),
        ("a, e, o, u, y, D", "es", ["d"]),
        ("28 weeks", "en", ["28", "week"]),
    ],
)
def test_one_letter_words_are_terms_unless_they_are_articles_or_conjunctions(text, language, expected):
    assert tokens(text, language) == expected


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("", "en"),
        ("?! …", "en"),
        ("the and of is", "en"),
        ("el la de que y", "es"),
        ("¿Qué es?", "es"),
        ("😀", "en"),
    ],
)
def test_stop_words_and_signs_leave_no_term(text, language):
    assert tokens(text, language) == []


@pytest.mark.parametrize("word", ["cómo", "cuándo", "dónde", "cuál", "quién", "cuánto"])
def test_a_spanish_question_word_is_not_a_term(word):
    assert tokens(f"¿{word.title()} tratar la anemia?", "es") == tokens("tratar anemia", "es")


def test_repeated_words_stay_repeated_and_those_without_a_stemmer_stay_as_they_are():
    assert tokens("pain, pains, no pain", "en") == ["pain", "pain", "pain"]
    assert tokens("Роды и роды", "ru") == ["роды", "и", "роды"]


@for_each(
    ("text", "question", "language", "marked"),
    [
        ("Contractions come; a contraction goes.", "contractions?", "en", ["Contractions", "contraction"]),
        ("Give anti-D. Do not wait.", "When is anti-D given?", "en", ["anti", "D"]),
        ("Las CONTRACCIONES y la contracción", "contracciones", "es", ["CONTRACCIONES", "contracción"]),
        ("Take vitamin D at 10 weeks", "vitamin D", "en", ["vitamin", "D"]),
        ("The mother and the baby", "the and of", "en", []),
        ("", "pain", "en", []),
        ("pain", "", "en", []),
        ("painting and painless", "pain", "en", []),
    ],
)
def test_matches_marks_exactly_the_words_shared_with_the_question(text, question, language, marked):
    assert [text[start:end] for start, end in matches(text, question, language)] == marked


def test_matches_finds_the_same_words_that_search_does():
    text, question = "Heavy bleeding after birth is an emergency.", "Is it normal to bleed heavily?"
    marked = [term for start, end in matches(text, question, "en") for term in tokens(text[start:end], "en")]
    assert marked == [term for term in tokens(text, "en") if term in tokens(question, "en")]


@for_each(
    ("text", "language"),
    [
        ("When is anti-D given?", "en"), ("Preeclampsia?", "en"), ("can i eat cheese", "en"),
        ("What is PPH", "en"), ("epidural", "en"), ("HELLP platelets caesarean", "en"), ("anemia de células", "es"), ("¿Cuándo se administra la anti-D?", "es"),
        ("cuando ir al hospital", "es"), ("fiebre embarazo", "es"), ("¿Puedo comer queso?", "es"),
        ("car", "en"), ("flu vaccine", "en"), ("jaundice", "en"), ("vitamin D", "en"), ("dormir", "es"), ("dolor", "es"),
        ("متى يجب أن أذهب إلى المستشفى؟", "ar"), ("когда ехать в роддом", "ru"), ("", "en"), ("42 %", "en"),
        ("😀", "en"),
    ],
)  # fmt: skip
def test_the_language_of_a_short_question_is_recognised(text, language):
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("page", "collection", "language"),
    [
        ("en", ["es"], "es"),
        ("es", ["en"], "en"),
        ("es", ["en", "es"], "es"),
        ("en", ["en", "es"], "en"),
        ("es", ["de", "en"], "en"),  # as without any
        ("es", ["de"], "en"),
    ],
)
def test_a_word_of_both_languages_is_in_that_of_the_collection_or_page(page, collection, language):
    with assuming(page), assuming(*collection):
        assert language_of("diabetes") == language
        assert (language_of("car permit"), language_of("ácido fólico")) == ("en", "es")
    assert language_of("diabetes") == "en"


@pytest.mark.parametrize("text", ["Schwangerschaft und Geburt", "le travail commence", "dor nas costas"])
def test_latin_script_is_taken_for_one_of_the_two_languages(text):
    assert language_of(text) in {"en", "es"}


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("", "en", []),
        (" \n\n ", "en", []),
        ("One sentence without an end", "en", ["One sentence without an end"]),
        ("Dr. Smith gave 5.5 mg of it. Then she left.", "en", ["Dr. Smith gave 5.5 mg of it.", "Then she left."]),
        ("El Sr. Pérez llegó. ¿Qué pasó? Nada.", "es", ["El Sr. Pérez llegó.", "¿Qué pasó?", "Nada."]),
        ("Call if:\n- you bleed\n- waters break\n3) it hurts", "en", ["Call if:", "you bleed", "waters break", "it hurts"]),
        ("A title\n\nA line\nthat is wrapped.", "en", ["A title", "A line that is wrapped."]),
    ],
)  # fmt: skip
def test_sentences_are_whole_and_list_items_stand_alone(text, language, expected):
    assert sentences(text, language) == expected


def zipf_corpus(rng: np.random.Generator, documents: int, vocabulary: int) -> list[list[str]]:
    """Documents of 0 to 60 words whose frequencies follow Zipf's law, some of them empty."""
    weights = 1 / np.arange(1, vocabulary + 1)
    weights /= weights.sum()
    lengths = rng.integers(0, 60, documents)
    return [[f"w{word}" for word in rng.choice(vocabulary, size, p=weights)] for size in lengths]


def reference(corpus: Sequence[Sequence[str]], query: Sequence[str], k1: float, b: float) -> np.ndarray:
    return BM25Okapi([list(document) for document in corpus], k1=k1, b=b).get_scores(list(query))


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (1.2, 0.75), (0.9, 0.4), (0.05, 0.75), (3.0, 0.95), (2.0, 0.0)])
def test_scores_equal_rank_bm25_to_the_last_bit_on_a_thousand_queries(k1, b):
    rng = np.random.default_rng(7)
    corpus = zipf_corpus(rng, documents=400, vocabulary=700)
    index = Bm25Index.fit(corpus)
    okapi = BM25Okapi(corpus, k1=k1, b=b)
    words = [set(document) for document in corpus]
    for _ in range(200):  # of each of the six
        query = [f"w{word}" for word in rng.integers(0, 720, rng.integers(0, 9))]
        query += query[: rng.integers(0, 3)]
        scores = index.scores(query, k1, b)
        assert np.array_equal(scores, okapi.get_scores(query))
        matching = [place for place, held in enumerate(words) if not held.isdisjoint(query)]
        assert index.matches(query).tolist() == matching
        for k in (1, 5, 50, 500):
            places, best = index.best(query, k, k1, b)
            lowest = sorted(scores[matching])[-min(k, len(matching)) :][:1]
            assert sorted(places.tolist()) == [place for place in matching if scores[place] >= lowest[0]]
            assert np.array_equal(best, scores[places])


def test_with_b_one_scores_equal_rank_bm25_to_the_last_bit():
    rng = np.random.default_rng(8)
    corpus = [document for document in zipf_corpus(rng, documents=100, vocabulary=50) if document]
    index = Bm25Index.fit(corpus)
    okapi = BM25Okapi(corpus, k1=1.5, b=1.0)
    for word in range(50):
        query = [f"w{word}", f"w{word // 2}"]
        assert np.array_equal(index.scores(query, 1.5, 1.0), okapi.get_scores(query))


def test_with_k1_zero_a_term_counts_once_where_rank_bm25_divides_zero_by_zero():
    corpus = [["cat", "cat", "dog"], ["cat"], ["bird"], ["fish"], []]
    idf = BM25Okapi(corpus).idf
    scores = Bm25Index.fit(corpus).scores(["cat", "dog", "dog"], k1=0.0, b=0.75)
    assert list(scores) == [idf["cat"] + idf["dog"] + idf["dog"], idf["cat"], 0.0, 0.0, 0.0]


TINY = [
    [["cat"]],
    [["cat"], ["cat"]],
    [["cat", "cat", "dog"], ["cat"], ["cat", "dog"]],
    [["cat"], ["dog"]],
    [["cat"], []],
    [[], ["cat", "dog"], []],
    [["cat", "dog"], ["cat"], ["cat"], ["bird"]],
]


@for_each("corpus", TINY)
@for_each("query", [["cat"], ["cat", "cat"], ["dog", "cat"], ["unknown"], []])
def test_scores_equal_rank_bm25_in_tiny_collections(corpus, query):
    scores = Bm25Index.fit(corpus).scores(query, 1.2, 0.5)
    assert np.array_equal(scores, reference(corpus, query, 1.2, 0.5))


def test_a_passage_with_the_term_is_a_hit_though_its_score_is_not_positive():
    index = Bm25Index.fit([["cat"], ["cat"], ["cat", "dog"]])
    assert (index.scores(["cat"]) < 0).all()
    assert index.best(["cat"], 2)[0].tolist() == [
        0,
        1,
        2,
    ]  # the first two tie with each other and lose to none
    index = Bm25Index.fit([["cat"], ["dog"]])
    assert list(index.scores(["cat"])) == [0.0, 0.0]
    assert index.best(["cat"], 5)[0].tolist() == [0]


@pytest.mark.parametrize("corpus", [[], [[]], [[], []]])
def test_a_collection_without_a_term_matches_nothing(corpus, tmp_path):
    index = Bm25Index.fit(corpus)
    index.save(tmp_path)
    for held in (index, Bm25Index.load(tmp_path)):
        assert list(held.scores(["cat"])) == [0.0] * len(corpus)
        assert held.matches(["cat"]).tolist() == []
        assert held.best(["cat"], 5)[0].tolist() == []


def test_an_index_read_back_from_disk_scores_the_same_bits(tmp_path):
    rng = np.random.default_rng(3)
    corpus = [*zipf_corpus(rng, documents=50, vocabulary=90), ["ñandú", "D", 'quo"te']]
    index = Bm25Index.fit(corpus)
    index.save(tmp_path)
    loaded = Bm25Index.load(tmp_path)
    for query in (["w1", "w5", "w5"], ["ñandú"], ['quo"te', "D"], ["unknown"]):
        for k1, b in ((1.5, 0.75), (0.7, 0.1)):
            assert np.array_equal(index.scores(query, k1, b), loaded.scores(query, k1, b))
            assert np.array_equal(loaded.scores(query, k1, b), reference(corpus, query, k1, b))


def test_other_parameters_in_between_do_not_change_a_score():
    corpus = zipf_corpus(np.random.default_rng(5), documents=30, vocabulary=40)
    index = Bm25Index.fit(corpus)
    first = index.scores(["w0", "w3"]).copy()
    for step in range(20):
        index.scores(["w0", "w3"], k1=step / 10, b=step / 20)
    assert np.array_equal(index.scores(["w0", "w3"]), first)


def test_a_document_frequency_counts_passages_with_any_of_the_terms():
    index = Bm25Index.fit([["cat", "año"], ["cat", "cat", "dog"], ["bird"], []])
    assert index.document_frequency(["cat"]) == 2
    assert index.document_frequency(["cat", "bird", "cat"]) == 3
    assert index.document_frequency(["ano"]) == 1, "as a search would match it"
    assert index.document_frequency(["fish"]) == index.document_frequency([]) == 0
    assert Bm25Index.fit([]).document_frequency(["cat"]) == 0


def test_the_terms_of_a_gloss_are_added_to_those_of_the_question():
    question, gloss = "náuseas del embarazo temprano", "nausea of the early pregnancy"
    own = query_tokens(question, ["en", "es"])
    assert query_tokens(question, ["en", "es"], gloss) == [*own, "nausea", "earli", "pregnanc"]
    assert query_tokens(question, ["en", "es"], question) == own, "not read in English"


@pytest.mark.parametrize("language", LANGUAGES)
def test_stop_words_include_nltks(language, monkeypatch):
    import nltk.data
    from nltk.corpus import stopwords

    monkeypatch.setattr(nltk.data, "path", [str(trained())])
    listed = {word for word in stopwords.words(LANGUAGES[language]) if len(word) > 1 and word.isalpha()}
    assert len(listed) > 100
    assert listed <= stop_words(language)


@for_each(
    ("question", "language", "passage"),
    [
        ("妊娠高血压怎么治疗？", "zh", "重度妊娠高血压用硫酸镁治疗。"),
        ("妊婦は何を食べる", "ja", "妊婦は魚を食べることができます。"),
        ("ความดันโลหิตสูง", "th", "หญิงตั้งครรภ์ที่มีความดันโลหิตสูง"),
        ("ما أسباب النزيف", "ar", "كل نزيف في الحمل يحتاج إلى فحص"),
        ("HELLP综合征", "zh", "HELLP 综合征"),
    ],
)
def test_a_question_in_another_script_shares_terms_with_what_answers_it(question, language, passage):
    assert set(query_tokens(question, [language])) & set(tokens(passage, language))
    assert matches(passage, question, language)


def test_characters_of_scripts_without_spaces_are_taken_in_pairs_and_marked_as_one():
    assert tokens("高血压", "zh") == ["高血", "血压"]
    assert matches("重度高血压。", "高血压", "zh") == [(2, 5)]


TEXT = "Cats sleep.\nThey  purr at\nnight. Dogs bark."


@pytest.mark.parametrize("quotes", [(), ("They purr at night.",), ("", "Not in the text."), (TEXT,)])
def test_the_segments_joined_are_the_text(quotes):
    assert "".join(segment.text for segment in highlight(TEXT, "Do dogs sleep?", "en", quotes)) == TEXT


def test_words_of_the_question_are_matched_by_their_stem():
    matched = [segment.text for segment in highlight(TEXT, "a dog sleeping", "en") if segment.matched]
    assert matched == ["sleep", "Dogs"]


def test_a_quote_is_found_whatever_its_white_space():
    segments = highlight(TEXT, "purr", "en", ["They purr at night."])
    assert [segment for segment in segments if segment.quoted] == [
        Segment("They  ", False, True), Segment("purr", True, True), Segment(" at\nnight.", False, True),
    ]  # fmt: skip


def test_a_quote_that_is_not_in_the_text_is_ignored():
    assert highlight("Cats sleep.", "dogs", "en", ["Dogs bark.", ""]) == [Segment("Cats sleep.", False, False)]
