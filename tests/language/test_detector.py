"""The detector's model, unpacked and mapped, decides as the library's own; without a place for it, it is loaded."""

from pathlib import Path
from typing import Any

import pytest
from helpers.small import ROOT
from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

from rag_core.documents.benchmark import read_builtin
from rag_core.language import detector, unpacked
from rag_core.language.analysis import COMMON_LANGUAGES, LANGUAGES

PACKED = MODEL_DIR / MODEL_FILE
OTHERS = [
    "", "42", "ñ", "Wann wird Anti-D gegeben?", "Когда вводят анти-D?", "いつ抗Dを投与しますか", "متى", "anti-D",
]  # fmt: skip


def identifier(home: Path | None, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(unpacked, "_home", home)
    weights, priors, classes, moves, rows, features = detector._model(PACKED)
    return LanguageIdentifier(weights, priors, classes, moves, features, norm_probs=True, tk_row=rows)


@pytest.mark.parametrize("languages", [None, COMMON_LANGUAGES, tuple(LANGUAGES)])
def test_languages_and_their_probabilities_are_the_librarys(tmp_path, monkeypatch, languages):
    library = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    ours = identifier(tmp_path, monkeypatch)  # unpacked now
    again = identifier(tmp_path, monkeypatch)  # and found
    texts = [question.text for question in read_builtin(ROOT / "data", "dev").questions[::4]] + OTHERS
    for one in (library, ours, again):
        one.set_languages(languages)
    for text in texts:
        code, probability = library.classify(text)
        for one in (ours, again):
            assert one.classify(text) == (code, pytest.approx(probability, abs=1e-6))


def test_another_versions_model_is_deleted_and_a_damaged_one_is_not_used(tmp_path, monkeypatch):
    old = tmp_path / "languages" / "old"
    old.mkdir(parents=True)
    identifier(tmp_path, monkeypatch)
    (unpacked,) = (tmp_path / "languages").iterdir()
    assert unpacked != old
    assert unpacked.stat().st_mode & 0o077 == 0
    (unpacked / "moves.npy").write_bytes(b"")
    assert identifier(tmp_path, monkeypatch).classify("¿Cuándo se pone la anti-D?")[0] == "es"


def test_where_it_cannot_be_unpacked_it_is_loaded(tmp_path, monkeypatch):
    (tmp_path / "languages").write_text("a file in the way", encoding="utf-8")
    assert identifier(tmp_path, monkeypatch).classify("¿Cuándo se pone la anti-D?")[0] == "es"
