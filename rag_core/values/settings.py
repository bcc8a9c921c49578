"""Settings, read once: arguments override the environment, a TOML file and the defaults."""

import difflib
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit
from urllib.request import getproxies, proxy_bypass

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from .errors import SettingsError, why_unreadable, without_url_secrets
from .message import Message
from .model_choice import OFFLINE_MODEL
from .places import DATA
from .visible import valid

LONGEST_VALUE = 80  # characters of a wrong value that a message repeats
FILE = ".db"  # how the name of a file of Milvus Lite ends, which one process can use
MILVUS_SCHEME = "milvus+"  # before http:// or https://, which alone are a Chroma server's
OPENAI = "openai"  # the provider's name when no base URL is set

Role = Literal["answer", "rewrite", "judge", "enrich"]
READING: tuple[Role, ...] = ("answer", "rewrite", "judge")  # the roles whose models read questions


@dataclass(frozen=True, slots=True)
class Server:
    """The server of a role's model, and its key; no URL means OpenAI's. The settings are those to check if it fails."""

    url: str | None
    key: SecretStr | None
    url_setting: str = field(default="OPENAI_BASE_URL", compare=False)
    key_setting: str = field(default="OPENAI_API_KEY", compare=False)

    @property
    def host(self) -> str:
        """The provider's name: "openai", or host and port, such as "localhost:11434"."""
        host = urlsplit(self.url).netloc.rpartition("@")[2] if self.url else ""
        return OPENAI if host in ("", "api.openai.com") else host

    @property
    def on_this_machine(self) -> bool:
        """Whether requests stay here: the host is a loopback address, and no proxy is in between."""
        host = urlsplit(self.url or "").hostname or ""
        proxies = getproxies()
        return _is_loopback(host) and (not ({"http", "https", "all"} & proxies.keys()) or bool(proxy_bypass(host)))

    @property
    def address(self) -> str:
        """The base URL without secrets; "openai" for OpenAI's own."""
        if self.url is None or self.host == OPENAI:
            return OPENAI
        return without_url_secrets(self.url).rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def clean_key(key: str) -> str:
    """A key without blanks around it; raises ValueError, without the key, if no key looks like it."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ValueError("a key has no blanks, line breaks or accents inside")
    return key


def clean_url(url: str) -> str:
    """A base URL without blanks around it; raises ValueError, without the URL, if it is no http address."""
    url = url.strip()
    parts = urlsplit(url)
    if not url.isprintable() or " " in url:
        raise ValueError("a base URL has no blanks or line breaks inside")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("a base URL begins with http:// or https:// and a host")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError("its port is not a number; write a / in a password as %2F") from None
    if "@" in parts.path:
        raise ValueError("it has an @ after the host; write a / in a password as %2F")
    return url


class Settings(BaseSettings):
    """How the lab runs.

    Set a field in the environment as RAG_ plus its name in capitals (the provider's as OPENAI_API_KEY and
    OPENAI_BASE_URL), by its name in `rag.toml` in the working directory, or as an argument.
    """

    model_config = SettingsConfigDict(
        extra="ignore",
        frozen=True,
        env_prefix="RAG_",
        populate_by_name=True,
        toml_file="rag.toml",
        env_ignore_empty=True,
    )

    llm: Literal["auto", "offline", "openai"] = "auto"
    """auto: openai if a key or base URL is set, otherwise the offline engine."""
    openai_api_key: SecretStr | None = Field(None, validation_alias="OPENAI_API_KEY")
    """Provider key."""
    openai_base_url: str | None = Field(None, validation_alias="OPENAI_BASE_URL")
    """Any OpenAI-compatible server (Ollama, vLLM, LM Studio)."""
    rewriter_base_url: str | None = None
    """Server of the rewriter model; defaults to OPENAI_BASE_URL."""
    rewriter_api_key: SecretStr | None = None
    """Its key; defaults to OPENAI_API_KEY."""
    judge_base_url: str | None = None
    """Server of the judge model; defaults to OPENAI_BASE_URL."""
    judge_api_key: SecretStr | None = None
    """Its key; defaults to OPENAI_API_KEY."""
    answer_model: str = "gpt-4o"
    """Model that writes answers (Multi-Query Rewriter RAG and Hybrid RRF module, Default Models: gpt-4o,
    temperature 0)."""
    rewriter_model: str = "gpt-3.5-turbo"
    """Model that rewrites questions (Multi-Query Rewriter RAG, Default Models), by default at temperature 0.3, and
    places passages in their documents (`rag index --enrich`)."""
    judge_model: str = "gpt-4o"
    """Model that judges passages (RAG-MSR README, LLM Scoring), and written answers in an evaluation,
    at temperature 0."""
    models: str = ""
    """Further models that a column of a comparison can choose, separated by commas."""
    embedding: str = "minilm"
    """minilm (bundled), a sentence-transformers name or folder, or openai:<model>."""
    gloss: Literal["auto", "on", "off"] = "auto"
    """Whether the embedding model reads Spanish through a word-by-word English gloss. auto: if it is known to be
    English-only, such as minilm."""
    reranker: str = "auto"
    """auto (the offline scorer on the bundled model), or a sentence-transformers CrossEncoder by name or folder, such
    as cross-encoder/ms-marco-MiniLM-L-6-v2 (RAG-MSR README, Step 2) or mixedbread-ai/mxbai-rerank-large-v1 (Query
    System with Contextual Retrieval, Reranking). Several, separated by commas: the first is used, and a column of a
    comparison can choose any."""
    labels: Literal["calibrated", "rank"] = "calibrated"
    """Relevance labels by fitted thresholds, or by position (rank)."""
    abstain: Literal["auto", "off"] = "auto"
    """Decline a question without asking the answer model when the evidence found is too weak, by fitted thresholds
    (auto), or never (off)."""
    country: str = Field("", max_length=2)
    """ISO 3166 code of the country whose emergency and crisis numbers are shown with an urgent question, such as ES or
    MX; empty for none."""
    private: Literal["ask", "redact", "send"] = "ask"
    """What happens to private data in a question before it leaves this machine: ask first, redact it, or send the
    question as typed."""
    history: Literal["on", "off"] = "on"
    """Whether the app keeps every question asked, with its results, to open again."""
    history_days: int | None = Field(None, ge=1)
    """Days after which a question is deleted from the history; kept for ever if unset."""
    database_url: SecretStr | None = None
    """Database of the history and the rooms, as SQLAlchemy writes its address; an SQLite file in the state
    folder if unset."""
    vectors: SecretStr = SecretStr("chroma")
    """Where vectors are kept: chroma or mapped in the state folder, with or without a Chroma collection for other
    programs; a Chroma server, as in http://127.0.0.1:8000 or https://TOKEN@HOST/TENANT/DATABASE; Milvus, which searches
    words too, as in milvus+https://TOKEN@HOST:PORT/DATABASE or ./index.db."""
    home: Path = Path(".rag")
    """State folder."""
    data: Path = DATA
    """Folder of the built-in documents, prices and label thresholds."""
    benchmarks: str = ""
    """BEIR folders that the app offers to measure on, separated by commas; visitors can name no others."""
    timeout: float = Field(30.0, gt=0, allow_inf_nan=False)
    """Seconds to wait for a provider. A failed request is retried once, so an unanswered call fails after about 2x this
    timeout, or 3x if the provider first asks to wait. If it asks for a longer wait than this, the call fails at once.
    Replies are cut off after 10x this timeout."""
    max_calls: int = Field(60, ge=1)
    """Limit on a provider's language model calls per strategy and question."""
    max_cost_usd: float = Field(1.0, gt=0)
    """Limit in US dollars per strategy and question, as far as prices are known; the call that exceeds it
    is the last."""
    operators: str = ""
    """E-mail addresses of those who may measure, save settings, and add, cut and delete documents in the app, separated
    by commas; only where visitors sign in, and nobody if empty."""
    questions_at_once: int = Field(8, ge=1)
    """Questions that the app answers at the same time; the others wait in the order in which they came."""
    visitor_calls: int | None = Field(None, ge=1)
    """Paid language model calls of one visitor of the app in a day; no limit if unset."""
    visitor_dollars: float | None = Field(None, gt=0, allow_inf_nan=False)
    """US dollars of one visitor in a day, at the dearest known price where a model's is unknown."""
    day_calls: int | None = Field(None, ge=1)
    """As visitor_calls, of all visitors together."""
    day_dollars: float | None = Field(None, gt=0, allow_inf_nan=False)
    """As visitor_dollars, of all visitors together."""

    @field_validator("openai_api_key", "rewriter_api_key", "judge_api_key", mode="before")
    @classmethod
    def _clean_key(cls, key: object) -> object:
        if isinstance(key, SecretStr):
            key = key.get_secret_value()
        return (clean_key(key) or None) if isinstance(key, str) else key

    @field_validator("openai_base_url", "rewriter_base_url", "judge_base_url", mode="before")
    @classmethod
    def _clean_url(cls, url: object) -> object:
        return clean_url(url) if isinstance(url, str) and url.strip() else None if url == "" else url

    @field_validator("vectors")
    @classmethod
    def _place_of_vectors(cls, place: SecretStr) -> SecretStr:
        named = place.get_secret_value().strip()
        if named in ("chroma", "mapped") or (named.endswith(FILE) and "://" not in named):
            return SecretStr(named)
        if "://" not in named:
            raise ValueError("it is chroma, mapped, an address, or a file whose name ends in .db")
        url = clean_url(named.removeprefix(MILVUS_SCHEME))
        return SecretStr(f"{MILVUS_SCHEME}{url}" if named.startswith(MILVUS_SCHEME) else url)

    @field_validator("home", "data")
    @classmethod
    def _name_of_folder(cls, folder: Path) -> Path:
        name = str(folder)
        if "\0" in name or name != valid(name):
            raise ValueError("the name of this folder must be valid UTF-8")
        return folder

    @property
    def benchmark_folders(self) -> dict[str, Path]:
        """The folders to measure on, by their names; of two with one name, the first."""
        folders = [Path(one) for one in _names(self.benchmarks)]
        return {folder.name: folder for folder in reversed(folders)}

    @property
    def uses_openai(self) -> bool:
        return self.asks_provider("answer")

    def asks_provider(self, role: Role) -> bool:
        """Whether a provider's model fills a role, instead of the offline engine."""
        return self.llm == "openai" or (self.llm == "auto" and self.server(role) is not None)

    @property
    def choosable_models(self) -> tuple[str, ...]:
        """The models that a column can choose: the settings' own on the answer's server, and the offline engine.

        No others: an address must not spend the operator's money on the dearest model of the server.
        """
        if not self.asks_provider("answer"):
            return (OFFLINE_MODEL,)
        set_up = [self.model(role) for role in READING if self.server(role) == self.server("answer")]
        return tuple(dict.fromkeys((*set_up, *_names(self.models), OFFLINE_MODEL)))

    @property
    def choosable_rerankers(self) -> tuple[str, ...]:
        """The rerankers that a column can choose, the one of the settings first; the offline scorer is `OFFLINE_MODEL`.

        No others: a shared address must not make the app read a folder or download a model.
        """
        offered = [OFFLINE_MODEL if name == "auto" else name for name in _names(self.reranker) or ["auto"]]
        return tuple(dict.fromkeys((*offered, OFFLINE_MODEL)))

    def server(self, role: Role) -> Server | None:
        """The server of a role's model; None when neither a base URL nor a key is set.

        The rewriter also enriches passages. URL and key default to the common ones: a common key goes to every server.
        """
        own = {"rewrite": "rewriter", "enrich": "rewriter", "judge": "judge"}.get(role, OPENAI)
        url, key = (
            f"{own}_{what}" if getattr(self, f"{own}_{what}") else f"{OPENAI}_{what}"
            for what in ("base_url", "api_key")
        )
        server = Server(getattr(self, url), getattr(self, key), _variable(url), _variable(key))
        return None if server.url is None and server.key is None else server

    def naming(self, model: str) -> str:
        """The variables whose value is this language model; empty if none is."""
        fields = ("answer_model", "rewriter_model", "judge_model")
        return ", ".join(_variable(field) for field in fields if getattr(self, field) == model)

    def model(self, role: Role) -> str:
        return {"answer": self.answer_model, "judge": self.judge_model}.get(role, self.rewriter_model)

    @property
    def history_host(self) -> str:
        """The host off this machine that keeps the questions asked in the app; empty if there is none."""
        if self.history == "off" or self.database_url is None:
            return ""
        parts = urlsplit(self.database_url.get_secret_value())
        host = parts.hostname or parse_qs(parts.query).get("host", [""])[0]
        return "" if host.startswith("/") or _is_loopback(host) or not host else host  # "/": a local socket

    @property
    def outside(self) -> tuple[str, ...]:
        """Hosts a question is sent to that are not this machine; empty if nothing leaves it.

        Another program on a loopback address is this machine: what it does with a question is its owner's affair.
        A store elsewhere gets a question's vector, which tells much of its text to whoever has the model.
        """
        store = self.vectors.get_secret_value().removeprefix(MILVUS_SCHEME)
        servers = [*self._asked, *([Server(store, None)] if "://" in store else [])]
        return tuple(dict.fromkeys(one.host for one in servers if one and not one.on_this_machine))

    @property
    def free(self) -> bool:
        """Whether a question costs nothing, whichever strategy runs: no provider is asked, on this machine or off it."""
        return not self._asked

    @property
    def embeds_with_provider(self) -> bool:
        return self.embedding.startswith(f"{OPENAI}:")

    @property
    def _asked(self) -> list[Server | None]:
        """The server of each provider's model that reads questions; None where its address is not set."""
        servers = [self.server(role) for role in READING if self.asks_provider(role)]
        if self.embeds_with_provider:
            servers.append(self.server("answer"))
        return servers

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _TomlFile(settings_cls)


class _TomlFile(TomlConfigSettingsSource):
    """rag.toml, whose keys must all be settings."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        super().__init__(settings_cls)
        for key in self.toml_data:
            aliases = {str(field.validation_alias) for field in settings_cls.model_fields.values()}
            if key not in settings_cls.model_fields and key not in aliases:
                close = difflib.get_close_matches(
                    key.lower().removeprefix("rag_"), settings_cls.model_fields, n=1, cutoff=0.5
                )
                raise SettingsError(
                    Message("rag.toml: {key!r} is not a setting.", key=key[:LONGEST_VALUE]),
                    f"Did you mean {close[0]!r}?" if close else "See docs/settings.md.",
                )


def read_settings(**arguments: Any) -> Settings:
    """Settings from arguments, environment and file; raises SettingsError, which names an invalid one."""
    try:
        return Settings(**arguments)
    except ValidationError as error:
        first = error.errors()[0]
        name = _as_given(str(first["loc"][0]), arguments)
        secret = any(part in name.lower() for part in ("key", "url", "vectors"))  # never repeated
        value = (
            Message("has an invalid value")
            if secret
            else Message("cannot be {value}", value=repr(first["input"])[:LONGEST_VALUE])
        )
        why = first["msg"].removeprefix("Value error, ")
        raise SettingsError(
            Message("Setting {name} {value}: {why}.", name=name, value=value, why=why),
            Message("See docs/settings.md."),
        ) from (None if secret else error)
    except (ValueError, OSError, RecursionError) as error:  # the TOML file itself
        raise SettingsError(
            Message("rag.toml cannot be read: {reason}.", reason=why_unreadable(error)),
            Message("Fix or remove the file."),
        ) from error


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]


def _as_given(field: str, arguments: Mapping[str, Any]) -> str:
    """A setting's name as the user gave it: argument, environment variable or rag.toml key."""
    if field in arguments:
        return field
    return _variable(field) if _variable(field) in os.environ else f"{field} in rag.toml"


def _variable(field: str) -> str:
    return field.upper() if field.lower().startswith(OPENAI) else f"RAG_{field.upper()}"
