"""Stored dictionaries say what simplemma says; without a place for them, simplemma's own are asked."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import simplemma

from rag_core.language import dictionaries, unpacked

WORDS = [
    "house", "Houses", "HOUSES", "don't", "don’t", "casas", "Casas", "dándoselo", "pregnant", "embarazadas",
    "ofrecía", "cafe\u0301", "xqzw", "%", "42", "ñ", "zzz", "\uffff",
]  # fmt: skip


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    dictionaries._lookup.cache_clear()
    yield
    dictionaries._lookup.cache_clear()


def say_what_simplemma_says() -> None:
    for word in WORDS:
        for language in ("en", "es"):
            assert dictionaries.in_dictionary(word, language) == simplemma.is_known(word, language), (word, language)
        known = simplemma.is_known(word, "es")
        assert dictionaries.lemma(word) == (simplemma.lemmatize(word, "es") if known else None), word


def test_stored_dictionaries_are_simplemmas_unless_they_are_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacked, "_home", tmp_path)
    say_what_simplemma_says()
    stored = {one.name.partition("-")[0]: one / dictionaries.NAME for one in (tmp_path / "languages").iterdir()}
    assert stored.keys() == {"en", "es"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in stored.values())
    stored["en"].write_bytes(b"damaged")
    dictionaries._lookup.cache_clear()
    say_what_simplemma_says()


@pytest.mark.parametrize("home", [None, "a file in the way"])
def test_without_a_place_for_them_simplemmas_are_asked(tmp_path, monkeypatch, home):
    (tmp_path / "languages").write_text("a file in the way", encoding="utf-8")
    monkeypatch.setattr(unpacked, "_home", home and tmp_path)
    say_what_simplemma_says()
    assert not isinstance(
        dictionaries._lookup()._dictionary_factory.get_dictionary("en"), dictionaries.StoredDictionary
    )


def test_threads_ask_at_the_same_time(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacked, "_home", tmp_path)
    found: list[bool] = []
    threads = [threading.Thread(target=lambda: found.append(dictionaries.in_dictionary("house", "en"))) for _ in "1234"]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [True] * 4
    assert len(list(Path(tmp_path, "languages").iterdir())) == 1
