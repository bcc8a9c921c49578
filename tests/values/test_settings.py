from pathlib import Path

import pytest
from helpers.looping import for_each
from helpers.small import ENVIRONMENT

from rag_core.lab.engines import ROLES, PaidModels
from rag_core.models import load_openai
from rag_core.offline.loading import load_offline
from rag_core.values.errors import ConfigError
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings, read_settings

KEY = "sk-secret-0123456789abcdef"
URL = "http://127.0.0.1:1/v1"

# field: (environment variable, default, as an argument, in the environment, in rag.toml)
FIELDS = {
    "llm": ("RAG_LLM", "auto", "openai", "offline", "auto"),
    "openai_base_url": ("OPENAI_BASE_URL", None, "http://a", "http://e", "http://t"),
    "rewriter_base_url": ("RAG_REWRITER_BASE_URL", None, "http://a", "http://e", "http://t"),
    "judge_base_url": ("RAG_JUDGE_BASE_URL", None, "http://a", "http://e", "http://t"),
    "answer_model": ("RAG_ANSWER_MODEL", "gpt-4o", "a", "e", "t"),
    "rewriter_model": ("RAG_REWRITER_MODEL", "gpt-3.5-turbo", "a", "e", "t"),
    "judge_model": ("RAG_JUDGE_MODEL", "gpt-4o", "a", "e", "t"),
    "models": ("RAG_MODELS", "", "a, b", "e", "t"),
    "embedding": ("RAG_EMBEDDING", "minilm", "a", "e", "t"),
    "reranker": ("RAG_RERANKER", "auto", "a", "e", "t"),
    "gloss": ("RAG_GLOSS", "auto", "on", "off", "on"),
    "labels": ("RAG_LABELS", "calibrated", "calibrated", "rank", "calibrated"),
    "abstain": ("RAG_ABSTAIN", "auto", "auto", "off", "auto"),
    "country": ("RAG_COUNTRY", "", "ES", "MX", "GB"),
    "private": ("RAG_PRIVATE", "ask", "redact", "send", "redact"),
    "history": ("RAG_HISTORY", "on", "on", "off", "on"),
    "home": ("RAG_HOME", Path(".rag"), Path("a"), Path("e"), Path("t")),
    "benchmarks": ("RAG_BENCHMARKS", "", "a, b", "e", "t"),
    "data": ("RAG_DATA", Settings().data, Path("a"), Path("e"), Path("t")),
    "timeout": ("RAG_TIMEOUT", 30.0, 1.0, 2.0, 3.0),
    "max_calls": ("RAG_MAX_CALLS", 60, 1, 2, 3),
    "max_cost_usd": ("RAG_MAX_COST_USD", 1.0, 0.25, 2.5, 3.5),
    "history_days": ("RAG_HISTORY_DAYS", None, 1, 2, 3),
    "operators": ("RAG_OPERATORS", "", "a@a.es, b@b.es", "e@e.es", "t@t.es"),
    "questions_at_once": ("RAG_QUESTIONS_AT_ONCE", 8, 1, 2, 3),
    "visitor_calls": ("RAG_VISITOR_CALLS", None, 1, 2, 3),
    "visitor_dollars": ("RAG_VISITOR_DOLLARS", None, 0.25, 2.5, 3.5),
    "day_calls": ("RAG_DAY_CALLS", None, 1, 2, 3),
    "day_dollars": ("RAG_DAY_DOLLARS", None, 0.25, 2.5, 3.5),
}


KEYS = {
    "openai_api_key": "OPENAI_API_KEY",
    "rewriter_api_key": "RAG_REWRITER_API_KEY",
    "judge_api_key": "RAG_JUDGE_API_KEY",
    "database_url": "RAG_DATABASE_URL",
    "vectors": "RAG_VECTORS",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, for rag.toml."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAG_HOME")
    return tmp_path


def write(folder: Path, field: str, value: object) -> None:
    text = value if isinstance(value, int | float) else f'"{value}"'
    (folder / "rag.toml").write_text(f"{field} = {text}\n", encoding="utf-8")


def test_every_setting_is_tested_here_and_kept_from_the_tests():
    assert set(FIELDS) | set(KEYS) == set(Settings.model_fields)
    assert {name for name, *_ in FIELDS.values()} | set(KEYS.values()) == set(ENVIRONMENT)


@pytest.mark.parametrize(
    ("given", "offered"),
    [
        ({}, ("offline",)),
        ({"models": "a, b"}, ("offline",)),
        ({"openai_api_key": "k", "llm": "offline", "models": "a"}, ("offline",)),
        ({"openai_api_key": "k"}, ("gpt-4o", "gpt-3.5-turbo", "offline")),
        (
            {"openai_api_key": "k", "models": " a ,,gpt-4o, b"},
            ("gpt-4o", "gpt-3.5-turbo", "a", "b", "offline"),
        ),
        ({"openai_api_key": "k", "rewriter_base_url": "http://own/v1"}, ("gpt-4o", "offline")),
    ],
)
def test_the_models_a_column_can_be_offered(given, offered):
    """Those of the settings on the answer's server, then those listed, then the offline engine."""
    assert Settings(**given).choosable_models == offered


class TestPrecedence:
    @pytest.mark.parametrize("field", FIELDS)
    def test_an_argument_goes_before_the_environment_rag_toml_and_the_default(self, folder, monkeypatch, field):
        name, default, given, said, filed = FIELDS[field]
        assert getattr(read_settings(), field) == default
        write(folder, field, filed)
        assert getattr(read_settings(), field) == filed
        monkeypatch.setenv(name, str(said))
        assert getattr(read_settings(), field) == said
        assert getattr(read_settings(**{field: given}), field) == given
        assert getattr(Settings(**{field: given}), field) == given

    @pytest.mark.parametrize(("field", "variable"), KEYS.items())
    def test_a_key_follows_the_same_order(self, folder, monkeypatch, field, variable):
        def key(**given: str) -> str:
            return getattr(read_settings(**given), field).get_secret_value()

        start = "http://" if field.endswith("_url") or field == "vectors" else "sk-"
        write(folder, field, f"{start}toml")
        assert key() == f"{start}toml"
        monkeypatch.setenv(variable, f"{start}environment")
        assert key() == f"{start}environment"
        assert key(**{field: f"{start}given"}) == f"{start}given"

    @pytest.mark.parametrize("name", ["OPENAI_API_KEY", "OPENAI_BASE_URL", "RAG_LLM", "RAG_TIMEOUT"])
    def test_an_empty_variable_is_no_value(self, monkeypatch, name):
        before = read_settings()
        monkeypatch.setenv(name, "")
        assert read_settings() == before

    @pytest.mark.parametrize(
        "name", ["HOME", "DATA", "LLM", "LABELS", "RERANKER", "ANSWER_MODEL", "TIMEOUT", "MAX_CALLS", "home"]
    )
    def test_a_variable_of_another_program_is_not_a_setting(self, monkeypatch, name):
        monkeypatch.setenv(name, "4711")
        settings = read_settings()
        assert "4711" not in repr(settings)
        assert (settings.home, settings.timeout) == (Path(".rag"), 30.0)


# RAG_LLM, key, base URL -> the engine that answers; None for a refusal
ENGINES = [
    ("auto", None, None, "OfflineLlm"),
    ("auto", KEY, None, "OpenAI"),
    ("auto", None, URL, "OpenAILike"),
    ("auto", KEY, URL, "OpenAILike"),
    ("offline", None, None, "OfflineLlm"),
    ("offline", KEY, None, "OfflineLlm"),
    ("offline", None, URL, "OfflineLlm"),
    ("offline", KEY, URL, "OfflineLlm"),
    ("openai", None, None, None),
    ("openai", KEY, None, "OpenAI"),
    ("openai", None, URL, "OpenAILike"),
    ("openai", KEY, URL, "OpenAILike"),
]


class TestEngine:
    @pytest.mark.parametrize(("llm", "key", "url", "engine"), ENGINES)
    def test_the_engine_follows_from_setting_key_and_url(self, embedder, llm, key, url, engine):
        settings = Settings(llm=llm, openai_api_key=key, openai_base_url=url)
        prices = PriceList({})
        assert settings.uses_openai is (engine != "OfflineLlm")
        if engine is None:
            with pytest.raises(ConfigError) as caught:
                load_openai(settings, "gpt-4o", prices)
            for word in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "RAG_LLM=offline"):
                assert word in caught.value.next_step
        else:
            openai = settings.uses_openai
            loaded = load_openai(settings, "gpt-4o", prices) if openai else load_offline(prices, embedder)
            assert type(loaded if loaded.offline else loaded.model).__name__ == engine
            assert loaded.name == ("offline-extractive" if engine == "OfflineLlm" else "gpt-4o")


@pytest.mark.parametrize(
    ("given", "free"),
    [
        ({}, True),
        ({"OPENAI_API_KEY": KEY}, False),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1"}, False),  # this machine may pass it on
        ({"OPENAI_API_KEY": KEY, "RAG_LLM": "offline"}, True),
        (
            {"OPENAI_API_KEY": KEY, "RAG_LLM": "offline", "RAG_EMBEDDING": "openai:text-embedding-3-small"},
            False,
        ),
        ({"RAG_JUDGE_BASE_URL": URL}, False),
    ],
)
def test_a_question_is_free_where_no_provider_reads_it(folder, monkeypatch, given, free):
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert read_settings().free is free


COMMON, OWN = "http://common.example/v1", "http://own.example:8080/v1"


class TestServers:
    """Each role's server and key: its own where set, else the common ones."""

    @for_each(
        ("given", "url", "key", "names"),
        [
            ({}, COMMON, "sk-common", ("OPENAI_BASE_URL", "OPENAI_API_KEY")),
            ({"base_url": OWN}, OWN, "sk-common", ("RAG_{}_BASE_URL", "OPENAI_API_KEY")),
            ({"api_key": "sk-own"}, COMMON, "sk-own", ("OPENAI_BASE_URL", "RAG_{}_API_KEY")),
            ({"base_url": OWN, "api_key": "sk-own"}, OWN, "sk-own", ("RAG_{}_BASE_URL", "RAG_{}_API_KEY")),
        ],
    )
    @for_each(("prefix", "roles"), [("rewriter", ("rewrite", "enrich")), ("judge", ("judge",))])
    def test_a_roles_own_goes_before_the_common_one(self, prefix, roles, given, url, key, names):
        own = {f"{prefix}_{name}": value for name, value in given.items()}
        settings = Settings(openai_base_url=COMMON, openai_api_key="sk-common", **own)
        for role in ("answer", "rewrite", "judge", "enrich"):
            server = settings.server(role)
            found = (server.url, server.key.get_secret_value(), server.url_setting, server.key_setting)
            if role in roles:
                assert found == (url, key, *(name.format(prefix.upper()) for name in names))
            else:
                assert found == (COMMON, "sk-common", "OPENAI_BASE_URL", "OPENAI_API_KEY")

    def test_only_the_roles_that_have_a_server_ask_it(self):
        settings = Settings(rewriter_base_url=OWN)
        assert not settings.uses_openai
        assert [role for role in ROLES if settings.asks_provider(role)] == ["rewrite", "enrich"]
        assert set(PaidModels(settings, PriceList({})).of_settings()) == {"rewrite", "enrich"}
        assert PaidModels(Settings(rewriter_base_url=OWN, llm="offline"), PriceList({})).of_settings() == {}

    def test_openai_for_every_role_needs_a_server_for_every_role(self):
        with pytest.raises(ConfigError, match="gpt-4o needs a provider"):
            PaidModels(Settings(rewriter_base_url=OWN, llm="openai"), PriceList({})).of_settings()

    @pytest.mark.parametrize(
        ("given", "shared"),
        [
            ({"rewriter_model": "gpt-4o"}, True),
            ({"rewriter_model": "gpt-4o", "rewriter_base_url": COMMON}, True),
            ({"rewriter_model": "gpt-4o", "rewriter_base_url": OWN}, False),
            ({"rewriter_model": "gpt-4o", "rewriter_api_key": "sk-own"}, False),
            ({"rewriter_model": "gpt-4o-mini"}, False),
        ],
    )
    def test_one_model_on_one_server_is_one_client(self, given, shared):
        settings = Settings(openai_base_url=COMMON, openai_api_key="sk-common", **given)
        paid = PaidModels(settings, PriceList({})).of_settings()
        assert paid["judge"] is paid["answer"]
        assert (paid["rewrite"] is paid["answer"]) is shared
        assert paid["rewrite"] is paid["enrich"]

    @pytest.mark.parametrize(
        ("url", "host", "address"),
        [
            (None, "openai", "openai"),
            ("https://api.openai.com/v1", "openai", "openai"),
            ("http://localhost:11434/v1/", "localhost:11434", "http://localhost:11434/v1"),
            ("https://me:hunter2@gate.example/a/v1?api_key=s", "gate.example", "https://gate.example/a/v1"),
            ("https://gate.example/v1/api_key=s", "gate.example", "https://gate.example/v1/api_key=…"),
            ("https://gate.example/token/s/v1/", "gate.example", "https://gate.example/token/…/v1"),
        ],
    )
    def test_a_server_is_named_by_its_host_and_never_with_a_password(self, url, host, address):
        server = Settings(openai_base_url=url, openai_api_key=KEY).server("answer")
        assert (server.host, server.address) == (host, address)
        assert KEY not in repr(server)


class TestWrongValues:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("RAG_LLM", "gpt"), ("RAG_LLM", "Offline"), ("RAG_LABELS", "none"), ("RAG_TIMEOUT", "0"),
            ("RAG_TIMEOUT", "-1"), ("RAG_TIMEOUT", "soon"), ("RAG_MAX_CALLS", "0"), ("RAG_MAX_CALLS", "-1"),
            ("RAG_MAX_CALLS", "2.5"), ("RAG_MAX_CALLS", "none"), ("RAG_MAX_COST_USD", "0"),
            ("RAG_MAX_COST_USD", "-0.5"), ("RAG_MAX_COST_USD", "nan"), ("RAG_MAX_COST_USD", "$1"),
            ("RAG_TIMEOUT", "inf"), ("RAG_TIMEOUT", "nan"),
        ],
    )  # fmt: skip
    def test_a_wrong_variable_is_named_with_its_value(self, monkeypatch, name, value):
        monkeypatch.setenv(name, value)
        with pytest.raises(ConfigError) as caught:
            read_settings()
        assert name.removeprefix("RAG_").lower() in caught.value.message.lower()
        assert f"cannot be {value!r}" in caught.value.message
        assert caught.value.next_step
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(("name", "value"), [("llm", "gpt"), ("labels", "none"), ("timeout", 0)])
    def test_a_wrong_argument_is_named_with_its_value(self, name, value):
        with pytest.raises(ConfigError, match=f"Setting {name} cannot be {value!r}"):
            read_settings(**{name: value})

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ('llm = "gpt"', ["llm", "'gpt'"]),
            ("timeout = -3", ["timeout", "-3"]),
            ("home = 3", ["home", "3"]),
            ("answer_model = 4", ["answer_model", "4"]),
            ("max_calls = 0", ["max_calls", "0"]),
            ("llm = ", ["rag.toml"]),
            ("llm", ["rag.toml"]),
            ("llm = " + "[" * 5000, ["rag.toml", "nested too deeply"]),
        ],
    )
    def test_a_wrong_line_of_rag_toml_is_named(self, folder, line, words):
        (folder / "rag.toml").write_text(line, encoding="utf-8")
        with pytest.raises(ConfigError) as caught:
            read_settings()
        assert all(word.lower() in caught.value.message.lower() for word in words)

    @pytest.mark.parametrize("line", ["openai_api_key = 998877", 'openai_api_key = ["998877"]'])
    def test_a_key_of_the_wrong_kind_is_named_but_not_shown(self, folder, line):
        (folder / "rag.toml").write_text(line, encoding="utf-8")
        with pytest.raises(ConfigError) as caught:
            read_settings()
        assert "OPENAI_API_KEY" in caught.value.message
        assert "998877" not in str(caught.value)

    def test_settings_never_show_the_key(self, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        settings = read_settings()
        assert settings.openai_api_key.get_secret_value() == KEY
        assert KEY not in repr(settings) + str(settings) + settings.model_dump_json()
