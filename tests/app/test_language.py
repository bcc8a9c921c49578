import pickle
import re
import string
from datetime import UTC, datetime

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po
from helpers.browser import tab
from helpers.catalogue import messages, plurals
from helpers.looping import for_each
from playwright.sync_api import expect

import rag_core
from pages.drawing import translate
from rag_core.catalog import Choice, describe_changes
from rag_core.values import translation
from rag_core.values.places import DATA

TITLES = {name: recipe.title for name, recipe in rag_core.RECIPES.items()}
TRANSLATED = [code for code in translate.LANGUAGES if code != "en"]


@pytest.fixture(params=TRANSLATED)
def catalogue(request: pytest.FixtureRequest) -> Catalog:
    with (DATA / "locale" / f"{request.param}.po").open("rb") as opened:
        return read_po(opened, locale=request.param)


def _entries(catalogue: Catalog) -> dict[str, tuple[str, ...]]:
    """Message, a plural by its singular -> its translations; a fuzzy or empty one is none."""
    found = {}
    for one in catalogue:
        key, said = (one.id if isinstance(one.id, str) else one.id[0]), one.string
        texts = (said,) if isinstance(said, str) else tuple(said)
        if key and all(texts) and not one.fuzzy:
            found[key] = texts
    return found


def test_every_message_is_translated_and_no_translation_is_obsolete(catalogue):
    wanted, known = messages(), _entries(catalogue)
    missing = [f"{message!r} ({where})" for message, where in wanted.items() if message not in known]
    obsolete = [message for message in known if message not in wanted]
    assert (missing, obsolete) == ([], [])


def test_spanish_says_usted_everywhere(catalogue):
    familiar = re.compile(
        r"\b(tú|tus?|puedes|tienes|inténtal[oa]|comprueba (?!las citas)|(?<!la )espera|elige otro|ejecuta `|prueba otro)\b",
        re.IGNORECASE,
    )
    found = [text for texts in _entries(catalogue).values() for text in texts if familiar.search(text)]
    assert found == []


def test_every_translation_has_the_fields_of_its_message(catalogue):
    """With their formats: a number where the message has one. A brace left open is an error."""
    free = {one: {"count"} for one in plurals()}  # a singular may leave it out

    def filled_in(text: str, message: str) -> set[tuple[str | None, ...]]:
        parts = string.Formatter().parse(text)
        return {one[1:] for one in parts if one[1] and one[1] not in free.get(message, ())}

    other = {
        message: text
        for message, texts in _entries(catalogue).items()
        for text in texts
        if filled_in(text, message) != filled_in(message, message)
    }
    assert other == {}


def test_a_message_is_a_string_that_remembers_its_parts_also_in_another_process():
    said = rag_core.Message("{count} of {total:,} were used", count=2, total=1000)
    assert said == "2 of 1,000 were used"
    assert said.template.format(**said.fields) == said
    elsewhere = pickle.loads(pickle.dumps(said))
    assert (elsewhere, elsewhere.template, elsewhere.fields) == (said, said.template, said.fields)


def test_outside_a_visit_everything_is_english():
    assert translate.t("Stop") == "Stop"
    assert translate.plural("{count:,} passage", "{count:,} passages", 1) == "1 passage"
    assert translate.plural("{count:,} passage", "{count:,} passages", 1200) == "1,200 passages"
    assert translate.translated(rag_core.Message("{file} was deleted.", file="a.md")) == "a.md was deleted."


def test_spanish_fills_in_the_fields_and_a_missing_message_stays_english(monkeypatch):
    monkeypatch.setattr(translate, "language", lambda: "es")
    assert translate.translated(rag_core.Message("{file} was deleted.", file="a.md")) == "a.md se ha borrado."
    assert translate.plural("{count:,} passage", "{count:,} passages", 1) == "1 pasaje"
    assert translate.plural("{count:,} passage", "{count:,} passages", 3) == "3 pasajes"
    assert translate.translated("a text that nobody translated") == "a text that nobody translated"


@for_each(("code", "written"), [("en", "5 November 2026, 09:05"), ("es", "5 de noviembre de 2026, 09:05")])
def test_a_date_is_written_as_the_language_writes_it(code, written):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translate, "language", lambda: code)
        assert translate.when(datetime(2026, 11, 5, 9, 5, tzinfo=UTC)) == written


def test_what_is_changed_is_called_in_spanish(monkeypatch):
    monkeypatch.setattr(translate, "language", lambda: "es")
    changed = describe_changes(("hybrid_rrf", {"k_rrf_pool": 20, "mmr": False}))
    assert translate.translated(changed) == "grupo tras la fusión 20, MMR: no"
    mine = {"name": "mine", "text": "Rewrite {question}"}
    changed = describe_changes(
        ("multi_query", {"templates": ["expanded", mine], "answer_prompt": "{context_str} {query_str}"})
    )
    assert (
        translate.translated(changed)
        == "plantillas de reescritura: ampliada + mine (texto propio), instrucción de la respuesta"
    )
    assert translate.in_words(["standalone", 0.95]) == "autónoma, 0.95"


def test_every_value_of_every_choice_has_its_word_in_buttons_and_summaries(catalogue, monkeypatch):
    monkeypatch.setattr(translate, "language", lambda: catalogue.locale_identifier)
    words = _entries(catalogue)
    for name, recipe in rag_core.RECIPES.items():
        for control in recipe.controls:
            for value in control.choices if isinstance(control, Choice) else ():
                assert (translate.in_words(value),) == words[value]
                changed = translate.translated(describe_changes((name, {control.name: value})))
                assert value == control.default or changed.endswith(f": {words[value][0]}")


def test_why_a_control_is_idle_is_said_in_spanish(monkeypatch):
    monkeypatch.setattr(translate, "language", lambda: "es")
    recipe = rag_core.RECIPES["rag_msr"]
    (analysis,) = (one for one in recipe.controls if one.name == "dynamic_analysis")
    idle = translate.translated(recipe.idle(analysis, {"prompt_set": "none"}))
    assert idle == "Solo actúa si en «Reformulaciones» se elige: originales, mejoradas."


@pytest.mark.browser
def test_each_visit_has_the_language_of_its_browser_until_it_switches(browser, app):
    context = browser.new_context(locale="es-MX")
    page = context.new_page()
    page.goto(f"{app}/documents")
    expect(page.get_by_role("heading", name="Los documentos en que se basan las respuestas")).to_be_visible()
    tab(page, "Evaluar").click()
    expect(page.get_by_role("heading", name="Medir estrategias con preguntas juzgadas")).to_be_visible()
    assert "lang=" not in page.url

    switch = page.locator(".st-key-languages")
    switch.get_by_role("radio", name="English").click()
    expect(page.get_by_role("heading", name="Measure strategies on judged questions")).to_be_visible()
    expect(page).to_have_url(re.compile("lang=en"))
    tab(page, "Strategies").click()
    expect(page.get_by_role("heading", name="How each strategy works")).to_be_visible()
    expect(page).to_have_url(re.compile("lang=en"))
    page.reload()
    expect(page.get_by_role("heading", name="How each strategy works")).to_be_visible()
    other = browser.new_context(locale="en-GB").new_page()  # a visit at the same time keeps its own
    other.goto(f"{app}/history?lang=es")
    expect(other.get_by_role("heading", name="Preguntas hechas")).to_be_visible()
    switch.get_by_role("radio", name="Español").click()
    expect(page.get_by_role("heading", name="Cómo funciona cada estrategia")).to_be_visible()
    expect(page).not_to_have_url(re.compile("lang="))

    page.goto(f"{app}/?s=rag_msr&s=bm25")  # what is chosen stays chosen, in the words of the other language
    page.locator(".st-key-settings-0 button").click()
    panel, chip = page.locator(".st-key-panel"), page.locator(".rl-chip").first
    panel.get_by_role("radio", name="mejoradas").click()
    expect(chip).to_have_text("cambiado: reformulaciones: mejoradas")
    switch.get_by_role("radio", name="English").click()
    expect(chip).to_have_text("changed: reformulations improved")
    panel.get_by_role("radio", name="none").click()
    expect(chip).to_have_text("changed: reformulations none")
    for each in (page, other):
        each.context.close()


@for_each("code", translate.LANGUAGES)
@pytest.mark.parametrize("name", TITLES)
def test_a_choice_is_understood_in_the_words_of_any_language(name, code):
    assert translate.key_of(translation.catalogue(code).gettext(TITLES[name]), TITLES) == name


def test_a_choice_by_its_key_or_by_no_known_words_stays_as_it_is():
    assert translate.key_of("bm25", TITLES) == "bm25"
    assert translate.key_of("Pizza", TITLES) == "Pizza"
