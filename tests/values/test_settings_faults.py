"""Settings from a careless hand: keys with blanks, passwords in URLs, misspelt and random rag.toml, and files nobody can read."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import fuzzing_text
from helpers.looping import for_each, fuzzed
from hypothesis import given

from rag_core.models.openai.errors import retry_after
from rag_core.values.errors import DataError, ProviderError, SettingsError, without_url_secrets
from rag_core.values.profile import read_profile
from rag_core.values.settings import Settings, read_settings

KEYS = ["OPENAI_API_KEY", "RAG_REWRITER_API_KEY", "RAG_JUDGE_API_KEY"]
URLS = ["OPENAI_BASE_URL", "RAG_REWRITER_BASE_URL", "RAG_JUDGE_BASE_URL"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, for rag.toml."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def key_of(found: Settings, name: str) -> str | None:
    key = getattr(found, name.lower().removeprefix("rag_"))
    return key.get_secret_value() if key else None


@pytest.mark.parametrize("name", KEYS)
def test_blanks_around_a_key_are_no_part_of_it(monkeypatch, name):
    monkeypatch.setenv(name, " sk-0123456789 \r\n")
    assert key_of(read_settings(), name) == "sk-0123456789"
    monkeypatch.setenv(name, " \t ")
    assert key_of(read_settings(), name) is None


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("key", ["sk-hidden 0123", "sk-hidden\n0123", "sk-hidden\x1b[2J", "sk-hiddené", "“sk-hidden”"])
def test_a_key_with_other_characters_inside_is_refused_and_not_shown(monkeypatch, name, key):
    monkeypatch.setenv(name, key)
    with pytest.raises(SettingsError, match="a key has no blanks") as refused:
        read_settings()
    assert name in refused.value.message
    assert "hidden" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("name", URLS)
@pytest.mark.parametrize(
    "url",
    [
        "me:hidden@host/v1", "ftp://me:hidden@host", "http://", "http://me:hid/den@host/v1", "http://[::1",
        "http://me:hidden#x@host", "http://host hidden/v1", "http://me:1/hidden@host", "hidden", "http://h:hidden/v1",
    ],
)  # fmt: skip
def test_a_base_url_that_is_none_is_refused_and_not_shown(monkeypatch, name, url):
    monkeypatch.setenv(name, url)
    with pytest.raises(SettingsError) as refused:
        read_settings()
    assert name in refused.value.message
    assert "hid" not in str(refused.value)


def test_blanks_around_a_base_url_are_no_part_of_it(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", " http://localhost:11434/v1\n")
    assert read_settings().openai_base_url == "http://localhost:11434/v1"


@for_each(
    ("text", "shown"),
    [
        ("at http://me:hunter2@h/v1?api_key=s#t now", "at http://h/v1 now"),
        ("'https://tok@h:1/a?k=v'", "'https://h:1/a'"),
        ("http://a@b@h/v1", "http://h/v1"),
        ("http://h/v1 is well; me@home.example?", "http://h/v1 is well; me@home.example?"),
        ("http://h/v1/api_key=hidden", "http://h/v1/api_key=…"),
        ("http://h/x-api-key:hidden/v1, not", "http://h/x-api-key:…/v1, not"),
        ("http://h/token/hidden/v1", "http://h/token/…/v1"),
        ("http://h/v1/accessToken/hidden", "http://h/v1/accessToken/…"),
        ("http://h/client_secret/hidden/v1;pwd=hidden", "http://h/client_secret/…/v1;pwd=…"),
        ("http://h/api%5Fkey%3Dhidden/v1", "http://h/api%5Fkey%3D…/v1"),
        ("Cannot POST /password=hidden/chat", "Cannot POST /password=…/chat"),
        ("at http://h/account/api-keys. Set", "at http://h/account/api-keys. Set"),
        ("http://h/monkey/v1/tokenizer/x", "http://h/monkey/v1/tokenizer/x"),
        ("/home/token/notes.md is empty", "/home/token/notes.md is empty"),
    ],
)
def test_a_url_in_an_error_loses_its_secrets(text, shown):
    assert without_url_secrets(text) == shown
    assert ProviderError(text).message == shown


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("anwser_model", "answer_model"),
        ("RAG_LLM", "llm"),
        ("openai_key", "openai_api_key"),
        ("timeuot", "timeout"),
        ("TIMEOUT", "timeout"),
    ],
)
def test_a_misspelt_key_of_rag_toml_is_named_with_the_nearest_one(folder, key, meant):
    (folder / "rag.toml").write_text(f'{key} = "x"\n')
    with pytest.raises(SettingsError, match="is not a setting") as refused:
        read_settings()
    assert repr(key) in refused.value.message
    assert refused.value.next_step == f"Did you mean {meant!r}?"


def test_a_key_like_none_of_ours_is_named_and_its_value_is_not(folder):
    (folder / "rag.toml").write_text('[zzzzzz]\nqq = "hidden"\n')
    with pytest.raises(SettingsError, match="'zzzzzz' is not a setting") as refused:
        read_settings()
    assert "hidden" not in str(refused.value)
    assert "docs/settings.md" in refused.value.next_step


@pytest.mark.parametrize("name", ["RAG_HOME", "RAG_DATA"])
def test_a_folder_whose_name_is_not_utf_8_is_refused(monkeypatch, name):
    monkeypatch.setenv(name, os.fsdecode(b"/tmp/\xff"))
    with pytest.raises(SettingsError, match="valid UTF-8") as refused:
        read_settings()
    assert name in refused.value.message
    str(refused.value).encode()


@for_each("header", ["-5", "0", "nan", "inf", "Wed, 01 Jan 1997 00:00:00 GMT",
                                    "Mon, 01 Jan 99999999999 00:00:00 GMT", "", "soon"])  # fmt: skip
def test_a_wait_that_is_over_or_none_is_not_advised(header):
    assert retry_after(SimpleNamespace(headers={"retry-after": header})) is None


@fuzzed(150)
@given(fuzzing_text.toml_rows)
def test_any_values_in_rag_toml_are_read_or_refused_in_one_line(folder, rows):
    fuzzing_text.check_toml(folder, rows)


@fuzzed(150)
@given(fuzzing_text.toml_bytes)
def test_any_bytes_in_rag_toml_are_read_or_refused_in_one_line(folder, data):
    fuzzing_text.check_toml(folder, data)


@pytest.mark.parametrize(
    "data",
    [b"llm = " + b"[" * 100_000, b"timeout = " + b"9" * 5000, b"\xff\xfe", b"llm = '" + b"x" * 10**6 + b"'", b"a" * 10**5],
    ids=["nested", "digits", "not UTF-8", "long value", "long key"],
)  # fmt: skip
def test_a_hostile_rag_toml_is_refused_in_one_line(folder, data):
    (folder / "rag.toml").write_bytes(data)
    with pytest.raises(SettingsError):
        read_settings()
    fuzzing_text.check_toml(folder, data)


DIGITS = "9" * 5_000
TOO_LONG = "a number has more than 4,300 digits"


@pytest.mark.parametrize(
    ("content", "why"),
    [(f"subject = {DIGITS}".encode(), TOO_LONG), ("subject = 'café'".encode("latin-1"), "it is not UTF-8")],
)
def test_a_profile_says_why_in_our_words(tmp_path, content, why):
    (tmp_path / "profile.toml").write_bytes(content)
    with pytest.raises(DataError) as refused:
        read_profile(tmp_path)
    assert refused.value.message == f"{tmp_path / 'profile.toml'} cannot be read: {why}."


def test_settings_say_why_in_our_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rag.toml").write_text(f"timeout = {DIGITS}")
    with pytest.raises(SettingsError) as refused:
        read_settings()
    assert refused.value.message == f"rag.toml cannot be read: {TOO_LONG}."
