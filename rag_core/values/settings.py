"""Settings, read once: arguments over environment over a TOML file over defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from .errors import SettingsError

ROOT = Path(__file__).resolve().parents[2]
OPENAI = "openai"  # what the provider is called when no base URL is set

Role = Literal["answer", "rewrite", "judge", "enrich"]


@dataclass(frozen=True, slots=True)
class Server:
    """Where the model of a role is served, and the key that is sent there.

    Args:
        url: base URL of an OpenAI-compatible server; None for OpenAI's own.
        url_setting: variable to check when the server cannot be reached.
        key_setting: variable to check when the key is refused.
    """

    url: str | None
    key: SecretStr | None
    url_setting: str = field(default="OPENAI_BASE_URL", compare=False)
    key_setting: str = field(default="OPENAI_API_KEY", compare=False)

    @property
    def host(self) -> str:
        """What the provider is called: "openai", or host and port, such as "localhost:11434"."""
        return host_of(self.url)

    @property
    def address(self) -> str:
        """The base URL without user name, password and query; "openai" for OpenAI's own."""
        if self.url is None or self.host == OPENAI:
            return OPENAI
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")


def host_of(url: str | None) -> str:
    """Host and port of a base URL; "openai" for OpenAI's own."""
    host = urlsplit(url).netloc.rpartition("@")[2] if url else ""
    return OPENAI if host in ("", "api.openai.com") else host


class Settings(BaseSettings):
    """How the lab runs.

    Every field may stand in the environment as RAG_ and its name in capitals (the provider's as
    OPENAI_API_KEY and OPENAI_BASE_URL), under its own name in `rag.toml` of the working directory, or
    be given as an argument.
    """

    model_config = SettingsConfigDict(
        extra="ignore",
        frozen=True,
        env_prefix="RAG_",
        populate_by_name=True,
        toml_file="rag.toml",
        env_ignore_empty=True,
    )

    llm: Literal["auto", "offline", "openai"] = Field(
        "auto",
        description="auto: openai when a key or base URL is set, else the offline engine.",
    )
    openai_api_key: SecretStr | None = Field(
        None, validation_alias="OPENAI_API_KEY", description="Provider key."
    )
    openai_base_url: str | None = Field(
        None,
        validation_alias="OPENAI_BASE_URL",
        description="Any OpenAI-compatible server (Ollama, vLLM, LM Studio).",
    )
    rewriter_base_url: str | None = Field(
        None, description="Server of the rewriter model; OPENAI_BASE_URL where unset."
    )
    rewriter_api_key: SecretStr | None = Field(None, description="Its key; OPENAI_API_KEY where unset.")
    judge_base_url: str | None = Field(
        None, description="Server of the judge model; OPENAI_BASE_URL where unset."
    )
    judge_api_key: SecretStr | None = Field(None, description="Its key; OPENAI_API_KEY where unset.")
    answer_model: str = Field(
        "gpt-4o",
        description="Model that writes answers (Multi-Query Rewriter RAG and Hybrid RRF module, Default Models: gpt-4o, temperature 0).",
    )
    rewriter_model: str = Field(
        "gpt-3.5-turbo",
        description="Model that rewrites questions (Multi-Query Rewriter RAG, Default Models), by default at temperature 0.3, and "
        "places passages in their documents (`rag index --enrich`).",
    )
    judge_model: str = Field(
        "gpt-4o",
        description="Model that judges passages (RAG-MSR README, LLM Scoring), and written answers in an evaluation, at "
        "temperature 0.",
    )
    embedding: str = Field(
        "minilm",
        description="minilm (bundled), a sentence-transformers name or folder, or openai:<model>.",
    )
    reranker: str = Field(
        "auto",
        description="auto (the offline scorer on the bundled model), or a sentence-transformers "
        "CrossEncoder by name or folder, such as cross-encoder/ms-marco-MiniLM-L-6-v2 (RAG-MSR README, Step 2) or "
        "mixedbread-ai/mxbai-rerank-large-v1 (Query System with Contextual Retrieval, Reranking).",
    )
    labels: Literal["calibrated", "rank"] = Field(
        "calibrated",
        description="Relevance labels by fitted thresholds, or by position (rank).",
    )
    home: Path = Field(Path(".rag"), description="State folder.")
    data: Path = Field(
        ROOT / "data",
        description="Folder of the built-in documents, prices and label thresholds.",
    )
    timeout: float = Field(
        30.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds a provider may stay silent. A failed request is tried once more, so a call "
        "that gets no answer ends after about twice this; after three times when the provider first asks "
        "to wait. Should it ask for a longer wait than this, the call fails at once. A reply that keeps "
        "coming is broken off after ten times this.",
    )
    max_calls: int = Field(
        60,
        ge=1,
        description="Language model calls of a provider that one strategy may make for one question.",
    )
    max_cost_usd: float = Field(
        1.0,
        gt=0,
        description="US dollars one strategy may spend on one question, as far as prices are known; the call "
        "that passes it is the last.",
    )

    @property
    def uses_openai(self) -> bool:
        """Whether answers come from an OpenAI or OpenAI-compatible server."""
        return self.asks_provider("answer")

    def asks_provider(self, role: Role) -> bool:
        """Whether a role is played by a provider's model, and not by the offline engine."""
        return self.llm == "openai" or (self.llm == "auto" and self.server(role) is not None)

    def server(self, role: Role) -> Server | None:
        """Where a role's model is served; None when neither a base URL nor a key is set.

        Passages are enriched by the rewriter model. A role's own key goes to its own server; where one of
        the two is unset, the common one stands in, so a key for all is sent to every server.
        """
        match role:
            case "rewrite" | "enrich":
                url, key, prefix = self.rewriter_base_url, self.rewriter_api_key, "RAG_REWRITER"
            case "judge":
                url, key, prefix = self.judge_base_url, self.judge_api_key, "RAG_JUDGE"
            case "answer":
                url, key, prefix = None, None, "OPENAI"
        server = Server(
            self.openai_base_url if url is None else url,
            self.openai_api_key if key is None else key,
            "OPENAI_BASE_URL" if url is None else f"{prefix}_BASE_URL",
            "OPENAI_API_KEY" if key is None else f"{prefix}_API_KEY",
        )
        return None if server.url is None and server.key is None else server

    def model(self, role: Role) -> str:
        """Name of a role's model."""
        match role:
            case "rewrite" | "enrich":
                return self.rewriter_model
            case "judge":
                return self.judge_model
            case "answer":
                return self.answer_model

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then environment, then the TOML file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def read_settings(**arguments: Any) -> Settings:
    """Settings from arguments, environment and file.

    Raises:
        SettingsError: naming the setting that has a value it cannot take.
    """
    try:
        return Settings(**arguments)
    except ValidationError as error:
        first = error.errors()[0]
        name = _as_given(str(first["loc"][0]), arguments)
        given = "so" if "key" in name.lower() else repr(first["input"])  # a key is never repeated
        raise SettingsError(
            f"Setting {name} cannot be {given}: {first['msg']}.", "See the README, Settings."
        ) from (None if given == "so" else error)
    except ValueError as error:  # the TOML file itself
        raise SettingsError(f"rag.toml cannot be read: {error}.", "Mend or remove the file.") from error


def _as_given(field: str, arguments: Mapping[str, Any]) -> str:
    """A setting's name where it was given: argument, environment, or rag.toml."""
    variable = field if field.isupper() else f"RAG_{field.upper()}"
    if field in arguments:
        return field
    return variable if variable in os.environ else f"{field} in rag.toml"
