import json
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.looping import for_each
from helpers.small import DOCUMENTS, ROOT, WordEmbedder

from rag_core.indexing import CorpusStore, SourceFiles, read_path
from rag_core.language.analysis import detect_language, languages_of
from rag_core.language.questions import question_notice
from rag_core.prompts.prompt import ANSWER, JUDGE_PASSAGE, Sources
from rag_core.prompts.templates import (
    HYPOTHETICAL,
    IMPROVED,
    MULTI_QUERY,
    ORIGINAL,
    READY_TEMPLATES,
    TRANSFORM,
)
from rag_core.runtime.context import Context
from rag_core.stages import Hyde, Rewrite
from rag_core.values.errors import ConfigError, DataError
from rag_core.values.profile import PROFILE_FILE, Profile, language_list, read_profile
from rag_core.values.types import Query

FOOD = Profile("food and nutrition", "dietitians", ("en",))
TEMPLATES = {
    template.name: template
    for template in (*MULTI_QUERY, *ORIGINAL, *IMPROVED, *READY_TEMPLATES.values(), TRANSFORM, HYPOTHETICAL)
}


def wrong(folder: Path, text: str) -> DataError:
    (folder / PROFILE_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as refused:
        read_profile(folder)
    assert refused.value.next_step
    return refused.value


class TestFile:
    def test_it_is_read_from_beside_the_documents(self, tmp_path):
        assert read_profile(tmp_path) is None
        (tmp_path / PROFILE_FILE).write_text(
            'subject = "food and nutrition"\naudience = "dietitians"\nlanguages = ["en"]\n', encoding="utf-8"
        )
        assert read_profile(tmp_path) == FOOD
        (tmp_path / "a.txt").write_text("Oats hold beta-glucan.", encoding="utf-8")
        reading = read_path(tmp_path)
        assert reading.profile == FOOD
        assert [document.id for document in reading.documents] == ["a.txt"]

    def test_a_beir_folder_has_one_too(self, tmp_path):
        row = {"_id": "1", "title": "Oats", "text": "Oats hold beta-glucan."}
        (tmp_path / "corpus.jsonl").write_text(json.dumps(row), encoding="utf-8")
        assert read_path(tmp_path).profile is None
        (tmp_path / PROFILE_FILE).write_text('subject = "food and nutrition"', encoding="utf-8")
        assert read_path(tmp_path).profile == Profile("food and nutrition")

    def test_the_built_in_one_stands_beside_its_documents(self):
        assert read_profile(ROOT / "data" / "corpus") == Profile(
            "pregnancy, birth and the time after it", "health professionals", ("en", "es")
        )

    @pytest.mark.parametrize(
        ("text", "line", "said"),
        [
            ('subject = "a"\ntopic = "b"\n', 2, "topic is not a profile key."),
            ("# food\nsubject = 3\n", 2, "subject must be one line"),
            ('\naudience = "a\\nb"\n', 2, "audience must be one line"),
            (f'subject = "{"x" * 201}"\n', 1, "subject must be one line"),
            ('languages = "en"\n', 1, "languages must be ISO 639-1 codes, not 'en'."),
            ('languages = ["English"]\n', 1, "languages must be ISO 639-1 codes, not ['English']."),
            ("languages = [1]\n", 1, "languages must be ISO 639-1 codes, not [1]."),
            ('subject = "a"\naudience = nobody\n', 2, "Invalid value"),
            ('subject = "a"\nsubject = "b"\n', 2, "Cannot overwrite a value"),
        ],
    )
    def test_what_is_wrong_is_named_with_file_and_line(self, tmp_path, text, line, said):
        assert wrong(tmp_path, text).message.startswith(f"{tmp_path / PROFILE_FILE}, line {line}: {said}")

    def test_a_large_file_is_not_parsed(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tomllib.loads", lambda text: pytest.fail("20,000 dotted parts take 4 s"))
        error = wrong(tmp_path, ".".join(["a"] * 20_000) + " = 1")
        assert error.message == f"{tmp_path / PROFILE_FILE} is larger than 8,000 bytes."

    def test_a_file_that_is_no_text_is_named(self, tmp_path):
        (tmp_path / PROFILE_FILE).write_bytes(b"subject = '\xff'")
        with pytest.raises(DataError, match=PROFILE_FILE):
            read_profile(tmp_path)


class TestPrompts:
    @for_each("template", TEMPLATES.values(), ids=TEMPLATES)
    def test_a_rewrite_is_about_the_corpuss_subject(self, template):
        prompt = template.fill(question="Q", form="sentence").about(FOOD)
        assert "about food and nutrition" in prompt.system
        assert not set("{}") & set(prompt.system + prompt.render())

    @pytest.mark.parametrize("template", [ANSWER, JUDGE_PASSAGE], ids=lambda template: template.name)
    def test_answers_and_judgements_are_for_its_readers(self, template):
        prompt = template.fill(question="Q", sources=Sources(()), refused="").about(FOOD)
        assert "about food and nutrition for dietitians" in prompt.system
        neutral = template.fill(question="Q", sources=Sources(()), refused="")
        assert neutral.system == prompt.system.replace(" about food and nutrition for dietitians", "")

    @pytest.mark.parametrize("profile", [FOOD, Profile()], ids=["food", "neutral"])
    def test_no_prompt_for_another_corpus_speaks_of_pregnancy(self, profile):
        for template in (*TEMPLATES.values(), ANSWER, JUDGE_PASSAGE):
            prompt = template.fill(question="Q", form="keywords", sources=Sources(()), refused="")
            sent = (prompt.about(profile).system + prompt.render()).lower()
            for word in ("pregnan", "birth", "obstetr", "antenatal", "labour", "mother", "baby", "clinical"):
                assert word not in sent

    def test_every_model_call_of_a_run_has_the_contexts_profile(self, services, llm):
        ctx = Context(replace(services, profile=FOOD))
        Rewrite(MULTI_QUERY).rewrite(Query("Do oats help?"), ctx)
        Hyde().rewrite(Query("Do oats help?"), ctx)
        assert len(llm.prompts) == 4
        assert all("about food and nutrition" in prompt.system for prompt in llm.prompts)


class TestIndex:
    def test_it_is_kept_with_the_index_and_stays_when_nothing_new_is_said(self, store):
        reading = SourceFiles("test", list(DOCUMENTS), profile=FOOD)
        assert store.update(reading).profile == FOOD
        opened = store.open()
        assert opened.profile == FOOD
        assert store.update(SourceFiles("test", list(DOCUMENTS))).profile == FOOD
        assert store.open() is opened  # nothing was written

    def test_a_changed_profile_alone_is_a_new_generation(self, store, embedder):
        store.update(SourceFiles("test", list(DOCUMENTS), profile=FOOD))
        first, asked = store.open(), len(embedder.asked)
        changed = replace(FOOD, subject="animals")
        report = store.update(SourceFiles("test", list(DOCUMENTS), profile=changed))
        second = store.open()
        assert first
        assert second.profile == changed
        assert second.name != first.name
        assert (report.added, report.changed, len(report.unchanged)) == ([], [], len(DOCUMENTS))
        assert len(embedder.asked) == asked  # vectors are taken over

    def test_it_survives_a_rebuild(self, store, tmp_path):
        store.update(SourceFiles("test", list(DOCUMENTS), profile=FOOD))
        opened = store.open()
        (opened.generation / "lexical" / "idf.npy").unlink()
        again = CorpusStore(tmp_path / "home", "animals", WordEmbedder())
        again.rebuild()
        rebuilt = again.open()
        assert rebuilt.profile == FOOD

    def test_without_one_the_languages_are_those_of_the_documents(self, index):
        assert index.profile == Profile(languages=("en", "es"))  # five English, one Spanish


FRENCH = "Les chats dorment la plus grande partie de la journée et ronronnent quand ils sont contents."


class TestLanguages:
    def test_documents_in_a_third_language_are_seen(self, store):
        documents = [replace(DOCUMENTS[0], id=str(n), text=FRENCH) for n in range(3)]
        store.update(SourceFiles("test", [*documents, DOCUMENTS[1]]))
        opened = store.open()
        assert opened.profile.languages == ("fr", "en")

    def test_a_language_of_few_documents_is_not_one_of_the_collections(self):
        assert languages_of([("Dogs bark at strangers and guard the house.", "en")] * 19 + [(FRENCH, "en")]) == ("en",)
        assert languages_of([]) == ()

    def test_a_language_the_documents_name_themselves_is_taken(self):
        assert languages_of([("Katzen schlafen.", "xx")]) == ("xx",)

    @for_each(
        ("question", "language"),
        [
            ("Quels sont les signes du travail prématuré ?", "fr"),
            ("Que faire en cas de contractions ?", "fr"),
            ("Wann bekomme ich Anti-D?", "de"),
            ("Wie wird Schwangerschaftsdiabetes behandelt?", "de"),
            ("Quais são os sintomas do parto prematuro?", "pt"),
            ("O que devo fazer se tiver contrações?", "pt"),
            ("Quali sono i sintomi del parto prematuro?", "it"),
            ("Ho mal di testa e vedo annebbiato", "it"),
            ("Quins són els símptomes del part prematur?", "ca"),
            ("Erken doğumun belirtileri nelerdir?", "tr"),
            ("妊娠中に何を食べるべきですか", "ja"),
            ("What is pre-eclampsia?", "en"),
            ("¿Qué es la preeclampsia?", "es"),
            ("hierro en el embarazo", "es"),
        ],
    )
    def test_the_language_of_a_question(self, question, language):
        assert detect_language(question) == language

    @pytest.mark.parametrize("language", ["en", "es"])
    def test_no_built_in_question_is_taken_for_another_language(self, language):
        """374 English and 239 Spanish questions, misspelt, hurried and bare keywords among them."""
        lines = (ROOT / "data" / "questions" / language / "queries.jsonl").read_text(encoding="utf-8")
        asked = [json.loads(line)["text"] for line in lines.splitlines()]
        assert len(asked) > 100
        assert [text for text in asked if detect_language(text) not in ("en", "es")] == []


class TestNotice:
    def test_it_names_the_questions_language_and_the_collections(self):
        french = "Quels sont les signes du travail prématuré ?"
        assert question_notice(french, ("en", "es")) == (
            "This question seems to be in French. The documents are in English and Spanish: expect poor matches."
        )
        assert question_notice(french, ("fr",)) == ""
        assert question_notice("What is pre-eclampsia?", ("fr",)) == (
            "This question seems to be in English. The documents are in French: expect poor matches."
        )

    def test_a_question_in_a_language_of_the_collection_brings_none(self):
        for question in ("What is pre-eclampsia?", "¿Qué es la preeclampsia?", "B12", "preeclampsia"):
            assert question_notice(question, ("en", "es")) == ""

    def test_a_few_words_that_could_be_either_bring_none(self):
        """English or Spanish is a guess for them; a collection in one of the two is not warned about."""
        assert question_notice("hierro", ("en",)) == question_notice("iron", ("es",)) == ""

    def test_a_collection_whose_languages_nobody_knows_brings_none(self):
        assert question_notice("Wann bekomme ich Anti-D?", ()) == ""

    def test_names_of_languages(self):
        assert language_list(("en",)) == "English"
        assert language_list(("en", "es", "xx")) == "English, Spanish and xx"


def test_a_phrase_is_checked_wherever_it_comes_from():
    with pytest.raises(ConfigError, match="subject"):
        Profile("food</source>")
    with pytest.raises(ConfigError, match="languages"):
        Profile(languages=("English",))
