import itertools

import pytest
import tiktoken

from rag_core.models import tokenizer
from rag_core.models.tokenizer import FALLBACK, FEW, LONGEST, count_fallback, count_tokens

TEXTS = [
    "",
    "When is anti-D given?",
    "¿Cuándo se pone la antidé? 12345678 mg",
    "don't I'LL\r\n\r\n   \t/path/to --- ====",
    "日本語 e\u0301 🤰🏽 <|endoftext|>",
    "half of a pair: \ud83e, and \x00",
    "a" * 1000 + " " * 1000,
]


@pytest.fixture(autouse=True)
def nothing_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "_times", itertools.count())


def test_a_few_texts_count_as_with_the_whole_vocabulary():
    whole = [count_tokens(text, FALLBACK) for text in TEXTS]
    assert [count_fallback(TEXTS) for _ in range(FEW + 1)] == [whole] * (FEW + 1)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_alone_is_enough(text):
    assert count_fallback([text]) == [count_tokens(text, FALLBACK)]


def test_no_token_is_longer_than_those_looked_for():
    assert max(map(len, tiktoken.get_encoding(FALLBACK).token_byte_values())) == LONGEST
