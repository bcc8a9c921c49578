"""One question to a provider's model, and what the call cost."""

import pytest

from rag_core.models import LlamaLlm
from rag_core.models.tokenizer import count_tokens
from rag_core.prompts.prompt import Template
from rag_core.values.errors import ProviderError
from rag_core.values.types import ModelCall

KEY = "sk-secret-0123456789abcdef"
ASK = Template("t", "answer", "Answer with care.", "Question: {question}")
PROMPT = ASK.fill(question="Do cats purr?")


def never() -> bool:
    return False


def ask(llm: LlamaLlm, prompt=PROMPT) -> tuple[list[str], ModelCall]:
    *pieces, bill = llm.stream(prompt, never)
    assert all(isinstance(piece, str) for piece in pieces)
    assert isinstance(bill, ModelCall)
    return pieces, bill


def failure_of(llm: LlamaLlm) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        list(llm.stream(PROMPT, never))
    return caught.value


def billed(llm: LlamaLlm) -> tuple[list[ModelCall], ProviderError | None]:
    """The bills of one call, whatever came of it."""
    bills: list[ModelCall] = []
    try:
        bills.extend(item for item in llm.stream(PROMPT, never) if isinstance(item, ModelCall))
    except ProviderError as error:
        return bills, error
    return bills, None


def sent_and_received(bills: list[ModelCall]) -> list[tuple[int, int, str]]:
    return [(bill.input_tokens, bill.output_tokens, bill.counted_by) for bill in bills]


SENT = count_tokens("Answer with care." + "Question: Do cats purr?")
TWO_WORDS = count_tokens("Cats purr ")
LOST = (SENT, 0, "tokenizer")  # a request that got no reply
WHOLE = (1000, 200, "provider")
