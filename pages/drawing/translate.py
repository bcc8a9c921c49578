"""Every sentence of the interface passes through here, in the language of `?lang=`, the header's choice or the browser."""

import functools
import re
import tomllib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import streamlit as st
from babel.dates import format_date
from streamlit.runtime.scriptrunner import get_script_run_ctx

import rag_core
from rag_core.values import translation

LANGUAGES = {"en": "English", "es": "Español"}  # each by its own name
LOCALES = {"en": "en_GB", "es": "es"}  # how each writes a date
KEY, PARAMETER = "language", "lang"


def t(message: str, /, **fields: object) -> str:
    """The message in the visit's language, its {fields} filled in; a literal, which extraction finds."""
    return translation.translate(language(), message, **fields)


def plural(one: str, many: str, count: int, /, **fields: object) -> str:
    """`one` or `many`, whichever the language of the visit uses for this count; {count} is filled in too."""
    return translation.translate_plural(language(), one, many, count, **fields)


def translated(text: str) -> str:
    """A text of rag_core in the language of the visit: a declared one, such as a control's help, or a Message."""
    return translation.translated(language(), text)


def problem(error: rag_core.RagError | str) -> str:
    """What went wrong and what to do next, in the language of the visit; files by name, as visitors read it."""
    parts = (error.message, error.next_step) if isinstance(error, rag_core.RagError) else (error,)
    return " ".join(translated(_without_folders(part)) for part in parts).strip()


def _without_folders(text: str) -> str:
    if not isinstance(text, rag_core.Message):
        return text
    fields = {name: _without_folder(one) for name, one in text.fields.items()}
    return rag_core.Message(text.template, **fields)


def _without_folder(field: object) -> object:
    if isinstance(field, rag_core.Message):
        return _without_folders(field)
    return Path(field).name if isinstance(field, str) and Path(field).is_absolute() else field


def in_words(value: object) -> str:
    """A control's value as people read it: On or Off, the name of a choice, anything else as on the command line."""
    if isinstance(value, bool):
        return t("On") if value else t("Off")
    if isinstance(value, list | tuple):
        return ", ".join(map(in_words, value))
    from rag_core.catalog import format_value  # with all strategies, later than the server's start

    return translated(format_value(value))


def key_of(words: str, texts: Mapping[str, str]) -> str:
    """The key of the text that says `words` in some language, as a browser may just after a switch; else `words`."""
    if words in texts:
        return words
    said_so = (
        key for key, text in texts.items() for code in LANGUAGES if translation.catalogue(code).gettext(text) == words
    )
    return next(said_so, words)


def declared(message: str, /) -> str:
    """The message as it is: marks a constant for the catalogue, to be shown through `translated`."""
    return message


@functools.cache
def _words() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


def words_for(section: str) -> dict[str, Any]:
    """Name in the code -> text, of a section of `words.toml`, to be shown through `translated`."""
    return _words()[section]


def when(moment: datetime) -> str:
    """A day and time of day, as the language of the visit writes it."""
    return f"{format_date(moment, 'long', locale=LOCALES[language()])}, {moment:%H:%M}"


def settle() -> None:
    """Decide the language of the visit, first on every page; the address has it where it is not the browser's."""
    asked = st.query_params.get(PARAMETER)
    if asked in LANGUAGES and st.session_state.get("language.asked") != asked:
        st.session_state[KEY] = asked
    st.session_state["language.asked"] = asked
    st.session_state.setdefault(KEY, _of_browser())
    wanted = language() if language() != _of_browser() else None
    if asked != wanted:
        if wanted:
            st.query_params[PARAMETER] = wanted
        else:
            del st.query_params[PARAMETER]
        st.session_state["language.asked"] = wanted


def language() -> str:
    """The language of the visit as a code; English outside a visit, as on a worker's thread."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return "en"
    return str(st.session_state.get(KEY, "en"))


def switch() -> None:
    """Draw the switch: each language by its own name."""
    st.segmented_control(
        t("Language of this app"), list(LANGUAGES), format_func=lambda code: LANGUAGES[code], key="language.switch",
        default=language(), required=True, label_visibility="collapsed", on_change=_choose,
    )  # fmt: skip


def _choose() -> None:
    st.session_state[KEY] = st.session_state["language.switch"]
    # otherwise the browser keeps showing a chosen option in the previous language
    for key, value in st.session_state.items():
        if isinstance(value, str):
            st.session_state[key] = value


def _of_browser() -> str:
    # not every socket sends the list
    return preferred(st.context.headers.get("Accept-Language") or st.context.locale or "")


def preferred(listed: str) -> str:
    """The first language of a list (as in Accept-Language, most wanted first) that there is a catalogue for."""
    wanted = re.findall(r"(?:^|,)\s*([a-z]+)", listed.lower())
    return next((code for code in wanted if code in LANGUAGES), "en")
