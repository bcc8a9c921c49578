"""The offline engine as a language model of LlamaIndex, for its synthesizers and whatever else takes one."""

from typing import Any

from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from pydantic import PrivateAttr

from . import NAME
from .engine import OfflineEngine


class OfflineLLM(CustomLLM):
    """Quotes the sentences before a question that answer it."""

    _engine: OfflineEngine = PrivateAttr()

    def __init__(self, engine: OfflineEngine, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._engine = engine

    @property
    def metadata(self) -> LLMMetadata:
        """Metadata; the context window is nominal, since passages are read one sentence at a time."""
        return LLMMetadata(context_window=1_000_000, num_output=512, model_name=NAME, is_chat_model=False)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self._engine.read_out(prompt))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        whole = self._engine.read_out(prompt)
        return (CompletionResponse(text=text, delta=text) for text in (whole,))
