import csv
import io
import json
import re
from datetime import UTC, datetime

import pytest
from helpers.in_process import ask, html, press, text, visitor
from pydantic import SecretStr
from streamlit.testing.v1 import AppTest

import rag_core
from pages.compare import export
from pages.shared import history_sync
from pages.shared.history_sync import comparisons
from pages.shared.live import Column, Comparison
from rag_core.sessions.history.store import History
from rag_core.sessions.saved import parse_session, passages_csv, session_text
from rag_core.values.settings import Settings

QUESTION = "Is star anise tea dangerous for a colicky baby?"  # B and C answer alike
GIVEN_AWAY = (
    "rl-bar", "rl-took", "rl-twin", "rl-label", "rl-notices", "rl-support\"", "rl-votes",
    "ordered by", "nDCG", "Simple semantic", "BM25", "RRF", "MMR", "cosine", "$",
)  # fmt: skip


@pytest.fixture
def presented(drawn: AppTest) -> AppTest:
    """A question with its answers, in presenter mode."""
    drawn.query_params["s"] = ["bm25", "simple_semantic", "ensemble"]
    ask(drawn.run(), QUESTION)
    return press(drawn, "Present")


def run_of(app: AppTest) -> Comparison:
    run: Comparison = app.session_state["run"]
    return run


def shown(app: AppTest) -> str:
    """What the page wrote, with what people can read in its widgets."""
    captions = [one.value for one in (*app.caption, *app.warning)]
    return "\n".join([html(app), *captions, *(one.label for one in app.button)])


def answers(app: AppTest) -> list[str]:
    """The answers from left to right."""
    return [text(one) for one in re.findall(r'<div class="rl-answer[^>]*>.*?</div>', html(app), re.DOTALL)]


def test_nothing_that_gives_a_strategy_away_is_on_the_page(presented):
    blind = shown(presented)
    assert [clue for clue in GIVEN_AWAY if clue in blind] == []
    listed = [len(trace.ranking) for trace in run_of(presented).traces]
    assert len(set(listed)) > 1
    assert html(presented).count('<details class="rl-passage') == 3 * min(listed)
    press(presented, "Reveal")
    assert [clue for clue in GIVEN_AWAY if clue not in shown(presented)] == []  # each was there to be hidden


def test_the_columns_stand_in_the_order_of_the_lot_and_stay(presented):
    run = run_of(presented)
    press(presented, "Leave")
    plain = answers(presented)
    assert len(set(plain)) > 1
    for order in ((2, 0, 1), (1, 2, 0)):
        run.order = order
        press(presented, "Present")
        assert answers(presented) == [plain[place] for place in order]
        press(presented, "Leave")


def test_every_order_can_be_drawn_for_one_address():
    columns = [Column(rag_core.build(name)) for name in ("bm25", "hyde", "hybrid_rrf")]
    drawn = {Comparison("one", datetime.now(UTC), QUESTION, columns).order for _ in range(200)}
    # of the 6 orders one is missing with a chance below 6 (5/6)^200 < 10^-14
    assert len(drawn) == 6


def tally(app: AppTest) -> str:
    (found,) = [one.value for one in app.caption if "none good enough:" in one.value]
    return str(found)


def test_votes_are_counted_by_question_and_by_strategy_once_revealed(presented):
    run = run_of(presented)
    run.order = (2, 0, 1)
    presented.run()
    press(presented, "B is best")
    assert run.best == (0,)  # the second card has the first column
    assert tally(presented) == "votes so far: 1 · tie: 0 · none good enough: 0"
    press(presented, "Tie")
    assert run.best == (0, 1, 2)
    assert tally(presented) == "votes so far: 1 · tie: 1 · none good enough: 0"
    press(presented, "C is best")
    assert run.best == (1, 2)  # the vote is for the answer, which the first card gives too
    assert tally(presented) == "votes so far: 1 · tie: 0 · none good enough: 0"
    press(presented, "Reveal")
    assert set(tally(presented).split(" · ")) == {
        "Simple semantic: 1", f"{rag_core.RECIPES['ensemble'].title}: 1", "BM25 keywords: 0", "tie: 0", "none good enough: 0",
    }  # fmt: skip
    assert text(html(presented)).count("voted best") == 2
    assert "A and C give the same answer." in text(html(presented))
    assert all(one.disabled for one in presented.button if one.label.endswith("is best"))
    press(presented, "Leave")
    press(presented, "Present")  # names were seen: no second vote
    assert all(one.disabled for one in presented.button if one.label.endswith("is best"))


def test_a_reload_shows_no_hidden_name_and_loses_no_vote(presented):
    press(presented, "None is good enough")
    before = answers(presented)
    again = visitor()
    again.query_params["run"] = run_of(presented).id
    again.run()
    assert not again.exception
    assert answers(again) == before
    assert tally(again) == "votes so far: 1 · tie: 0 · none good enough: 1"
    assert [clue for clue in GIVEN_AWAY if clue in shown(again)] == []


@pytest.mark.parametrize(
    ("pressed", "best", "told"),
    [
        ("A is best", (1, 2), f"Simple semantic and {rag_core.RECIPES['ensemble'].title} (the same answer)"),
        ("Tie", (0, 1, 2), "a tie"),
        ("None is good enough", (), "none is good enough"),
    ],
)
def test_a_vote_is_in_the_history_and_in_every_file(start, tmp_path, monkeypatch, pressed, best, told):
    monkeypatch.setattr(
        history_sync, "keep_vote", lambda run: history_sync._keep_vote(run, history_sync.history())
    )  # before the page goes on
    url = f"sqlite:///{tmp_path / 'history.db'}"
    app = start(RAG_HISTORY="on", RAG_DATABASE_URL=url)
    app.query_params["s"] = ["bm25", "simple_semantic", "ensemble"]
    press(ask(app.run(), QUESTION), "Present")
    run = run_of(app)
    run.order = (2, 0, 1)
    press(app.run(), pressed)
    assert run.best == best

    history = History.opened(Settings(database_url=SecretStr(url)))
    asked = history.find(run.id)
    assert asked.best == best
    comparisons().forget(run.id)
    found = history_sync._reopened(asked)
    assert found.best == best

    voted = [place in best for place in range(3)]
    assert [one.voted_best for one in parse_session(json.loads(session_text(run.traces, export._voted(run))))] == voted
    assert f"Vote while the names were hidden: {told}" in export._html(run, "en", [])
    rows = csv.DictReader(io.StringIO(passages_csv(export._session(run))))
    assert {(row["strategy"], row["voted_best"]) for row in rows} == {
        (column.strategy.name, "yes" if won else "no") for column, won in zip(run.columns, voted, strict=True)
    }
    run.best = None
    assert {one.voted_best for one in export._session(run)} == {None}
    assert "Vote while" not in export._html(run, "en", [])
