"""The history: kept, searched, opened again, deleted; private; harmless when it cannot be written."""

import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as how
from hypothesis import strategies as st
from pydantic import SecretStr
from sqlalchemy import create_engine, text

import rag_core
from rag_core.runtime.services import Services
from rag_core.sessions.history.record import Asked, AskedColumn
from rag_core.sessions.history.store import History
from rag_core.values.errors import DataError, MissingResource, SettingsError, StorageError
from rag_core.values.model_choice import ModelChoice
from rag_core.values.settings import Settings

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.fixture(params=["the state folder", "another database"])
def history(request: pytest.FixtureRequest, tmp_path: Path) -> History:
    url = None if request.param == "the state folder" else SecretStr(f"sqlite:///{tmp_path / 'elsewhere.db'}")
    return History.opened(Settings(home=tmp_path / "home", database_url=url))


@pytest.fixture
def trace(full: Services) -> rag_core.Trace:
    return rag_core.build("bm25").run("Where do cats sleep?", full)


def question(identity: str, text: str = "Where do cats sleep?", asked: datetime = NOON, *names: str) -> Asked:
    return Asked(identity, asked, text, tuple(AskedColumn(name, {"k_final": 5}) for name in names or ("bm25",)))


def ids(history: History, **chosen: object) -> list[str]:
    return [one.id for one in history.search(**chosen)]


def test_a_question_comes_back_with_all_it_led_to(history, trace):
    kept = Asked(
        "a", NOON, trace.question,
        (
            AskedColumn("bm25", trace.controls, trace.steps, trace=trace),
            AskedColumn("hyde", {"k_final": 5}, error="It failed.", next_step="Wait.", failed_calls=trace.calls,
                        models=ModelChoice("gpt-4o-mini", judge_model="offline"), corpus="ward"),
            AskedColumn("hybrid_rrf", {}, trace.steps[:1], "Cats pu", stopped="The run was stopped."),
        ),
        "GB", trace.calls,
    )  # fmt: skip
    history.add(kept)
    found = history.find("a")
    first, failed, stopped = found.columns
    assert first.trace.as_json() == trace.as_json()
    assert len(set(found.calls) | set(first.trace.calls)) == len(trace.calls)  # the same calls, not equal ones
    assert (failed.error, failed.next_step, stopped.text, stopped.stopped) == (
        "It failed.",
        "Wait.",
        "Cats pu",
        "The run was stopped.",
    )
    assert (found.id, found.asked, found.question, found.country) == ("a", NOON, trace.question, "GB")
    (entry,) = history.search()
    assert (entry.strategies, entry.finished) == (("bm25", "hyde", "hybrid_rrf"), 1)
    assert history.find("b") is None


class TestSearch:
    @pytest.fixture
    def several(self, history: History) -> History:
        history.add(question("cats", "Where do cats sleep?", NOON, "bm25", "hyde"))
        history.add(question("csection", "¿Riesgos de la CESÁREA?", NOON + timedelta(days=1), "bm25_plus"))
        history.add(question("percent", "Is 5 % of dogs 5_0?", NOON + timedelta(days=2), "hyde"))
        return history

    def test_the_latest_comes_first(self, several):
        assert ids(several) == ["percent", "csection", "cats"]
        assert ids(several, limit=1) == ["percent"]

    @pytest.mark.parametrize(
        ("words", "found"),
        [
            ("CATS", ["cats"]),
            ("cesarea riesgos", ["csection"]),
            ("cesárea perros", []),
            ("5 %", ["percent"]),
            ("5_", ["percent"]),  # no wildcards
            ("%", ["percent"]),
            ("' OR 1=1 --", []),
        ],
    )
    def test_every_word_must_be_there_whatever_its_case_and_accents(self, several, words, found):
        assert ids(several, words=words) == found

    def test_by_strategy(self, several):
        assert ids(several, strategy="hyde") == ["percent", "cats"]
        assert ids(several, strategy="bm25") == ["cats"]  # and not bm25_plus

    def test_by_day(self, several):
        fourth = date(2026, 5, 4)
        assert ids(several, until=fourth) == ["cats"]
        assert ids(several, since=fourth + timedelta(days=1)) == ["percent", "csection"]
        assert ids(several, since=fourth, until=fourth + timedelta(days=1)) == ["csection", "cats"]


@how(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(st.text(max_size=60))
def test_any_question_is_kept_and_found_by_its_own_words(tmp_path, text):
    history = History.opened(Settings(home=tmp_path / "home"))
    history.delete_all()
    history.add(question("one", text))
    assert ids(history, words=text) == ["one"]


class TestOwners:
    def test_each_person_finds_counts_and_deletes_only_their_own(self, history):
        ana, eva = history.of("ana"), history.of("eva")
        ana.add(question("a"))
        eva.add(question("e"))
        history.add(question("old"))  # of before visitors signed in
        assert (ids(ana), ids(eva), ids(history.of(""))) == (["a"], ["e"], ["old"])
        assert (ana.count(), history.count()) == (1, 3)
        assert ana.find("e") is None
        assert ana.update(question("e")) is ana.delete("e") is False
        assert eva.delete_all() == 1
        assert ids(history) == ["a", "old"]


class TestDeleting:
    def test_one_and_all(self, history):
        for identity in "abc":
            history.add(question(identity))
        assert history.delete("b") is True
        assert history.delete("b") is False
        assert history.count() == 2
        assert history.delete_all() == 2
        assert history.search() == []

    def test_a_question_is_kept_for_the_days_of_the_settings(self, tmp_path):
        """Eight days old is more than seven; six are not."""
        now = datetime.now(UTC)
        unlimited = History.opened(Settings(home=tmp_path))
        limited = History.opened(Settings(home=tmp_path, history_days=7))
        unlimited.add(question("old", asked=now - timedelta(days=8)))
        unlimited.add(question("recent", asked=now - timedelta(days=6)))
        assert ids(limited) == ["recent"]
        limited.add(question("new", asked=now))
        assert ids(unlimited) == ["new", "recent"]
        assert limited.expire() == unlimited.expire() == 0

    def test_a_comparison_that_ends_after_it_was_deleted_stays_deleted(self, history):
        asked = question("a")
        history.add(asked)
        assert history.update(replace(asked, country="GB")) is True
        history.delete("a")
        assert history.update(asked) is False
        assert history.count() == 0

    def test_nothing_of_a_deleted_question_is_left_in_the_file(self, tmp_path):
        history = History.opened(Settings(home=tmp_path))
        secret = "the quick brown fox jumps over the lazy dog"
        history.add(question("a", secret))
        file = tmp_path / "history" / "questions.sqlite"
        assert secret.encode() in file.read_bytes()
        history.delete("a")
        assert secret.encode() not in b"".join(one.read_bytes() for one in file.parent.iterdir())


class TestPlace:
    def test_only_its_owner_can_read_it(self, history, tmp_path):
        history.add(question("a"))
        path = Path(history.where if "://" not in history.where else history.where.partition(":///")[2])
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        if path.parent.name == "history":
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    def test_off_keeps_nothing_and_creates_nothing(self, tmp_path):
        assert History.opened(Settings(home=tmp_path / "home", history="off")) is None
        History.opened(Settings(home=tmp_path / "home"))
        assert not (tmp_path / "home").exists()

    def test_many_threads_and_two_histories_write_at_once(self, tmp_path):
        def write(name: str) -> None:
            history = History.opened(Settings(home=tmp_path))
            for number in range(5):
                history.add(question(f"{name}{number}"))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, "abcd"))
        assert History.opened(Settings(home=tmp_path)).count() == 20

    @pytest.mark.parametrize(
        ("url", "host"),
        [
            (None, ""),
            ("sqlite:////var/lib/rag.db", ""),
            ("postgresql://u:p@localhost/rag", ""),
            ("postgresql://u:p@[::1]:5432/rag", ""),
            ("postgresql:///rag?host=/var/run/postgresql", ""),
            ("postgresql:///rag?host=db.example.org", "db.example.org"),
            ("postgresql+psycopg://u:p@db.example.org:5432/rag", "db.example.org"),
        ],
    )
    def test_a_database_elsewhere_is_a_place_that_questions_are_sent_to(self, url, host):
        address = SecretStr(url) if url else None
        assert Settings(database_url=address).history_host == host
        assert Settings(database_url=address, history="off").history_host == ""


class TestFaults:
    @pytest.mark.parametrize("url", ["nonsense", "nodialect://x", "postgresql://u:hunter2@host:port/x"])
    def test_a_wrong_address_is_one_sentence_without_the_address(self, url):
        with pytest.raises(SettingsError, match="RAG_DATABASE_URL") as caught:
            History.opened(Settings(database_url=SecretStr(url)))
        assert "hunter2" not in str(caught.value)

    def test_a_driver_that_is_not_installed_is_named(self):
        with pytest.raises(MissingResource, match="oracledb"):
            History.opened(Settings(database_url=SecretStr("oracle+oracledb://u:hunter2@host/x")))

    def test_a_folder_that_cannot_be_written_is_a_storage_error(self, tmp_path):
        (tmp_path / "home").write_text("a file")
        history = History.opened(Settings(home=tmp_path / "home"))
        with pytest.raises(StorageError, match="RAG_HISTORY=off"):
            history.add(question("a"))

    def test_a_database_that_can_only_be_read_is_read(self, history, tmp_path):
        history.add(question("a"))
        file = history.where.removeprefix("sqlite:///")
        kept = History.opened(Settings(database_url=SecretStr(f"sqlite:///file:{file}?mode=ro&uri=true")))
        assert ids(kept) == ["a"]
        assert kept.find("a") == question("a")
        with pytest.raises(StorageError, match="readonly"):
            kept.add(question("b"))

    def test_a_file_that_is_no_database_is_a_storage_error(self, tmp_path):
        (tmp_path / "history").mkdir()
        (tmp_path / "history" / "questions.sqlite").write_text("hello " * 1000)
        with pytest.raises(StorageError, match="not a database"):
            History.opened(Settings(home=tmp_path)).search()

    def test_a_damaged_question_leaves_the_others(self, tmp_path):
        url = f"sqlite:///{tmp_path / 'own.db'}"
        history = History.opened(Settings(database_url=SecretStr(url)))
        history.add(question("good"))
        history.add(question("bad"))
        with create_engine(url).begin() as connection:
            connection.execute(text("UPDATE rag_questions SET record = x'00' WHERE id = 'bad'"))
        with pytest.raises(DataError, match="cannot be opened"):
            history.find("bad")
        assert history.find("good")
        assert len(history.search()) == 2
