"""Why a file cannot be read, without Python's words for it."""

from pathlib import Path

import pytest

from rag_core.values.errors import DataError, SettingsError
from rag_core.values.profile import read_profile
from rag_core.values.settings import read_settings

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
