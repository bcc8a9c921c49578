"""Settings, read once: arguments over environment over a TOML file over defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from .errors import ConfigError

ROOT = Path(__file__).resolve().parents[1]


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
    answer_model: str = Field(
        "gpt-4o",
        description="Model that writes answers (seeds 000 to 002: gpt-4o, temperature 0).",
    )
    rewriter_model: str = Field(
        "gpt-3.5-turbo",
        description="Model that rewrites questions (seeds 000 and 001), by default at temperature 0.3, and "
        "places passages in their documents (`rag index --enrich`).",
    )
    judge_model: str = Field(
        "gpt-4o",
        description="Model that judges passages (seed 004), and written answers in an evaluation, at "
        "temperature 0.",
    )
    embedding: str = Field(
        "minilm",
        description="minilm (bundled), a sentence-transformers name or folder, or openai:<model>.",
    )
    reranker: str = Field(
        "auto",
        description="auto (the offline scorer on the bundled model), or a sentence-transformers "
        "CrossEncoder by name or folder, such as cross-encoder/ms-marco-MiniLM-L-6-v2 (seed 004) or "
        "mixedbread-ai/mxbai-rerank-large-v1 (seed 003).",
    )
    labels: Literal["calibrated", "rank"] = Field(
        "calibrated",
        description="Relevance labels by fitted thresholds, or by position as in the seed.",
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
        configured = self.openai_api_key is not None or self.openai_base_url is not None
        return self.llm == "openai" or (self.llm == "auto" and configured)

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
        ConfigError: naming the setting that has a value it cannot take.
    """
    try:
        return Settings(**arguments)
    except ValidationError as error:
        first = error.errors()[0]
        name = _as_given(str(first["loc"][0]), arguments)
        given = "so" if "key" in name.lower() else repr(first["input"])  # a key is never repeated
        raise ConfigError(
            f"Setting {name} cannot be {given}: {first['msg']}.", "See the README, Settings."
        ) from (None if given == "so" else error)
    except ValueError as error:  # the TOML file itself
        raise ConfigError(f"rag.toml cannot be read: {error}.", "Mend or remove the file.") from error


def _as_given(field: str, arguments: Mapping[str, Any]) -> str:
    """A setting's name where it was given: argument, environment, or rag.toml."""
    variable = field if field.isupper() else f"RAG_{field.upper()}"
    if field in arguments:
        return field
    return variable if variable in os.environ else f"{field} in rag.toml"
