import json
import re
from collections.abc import Callable, Sequence

import pytest
from helpers.behaviours import Behaviour, Reply, Status
from helpers.in_process import ask, html, press, text, visitor
from helpers.openai_server import OpenAIServer, role_of
from helpers.provider_lab import obliging
from streamlit.testing.v1 import AppTest

from rag_core.evaluation import estimates

CONTRACTIONS = "When should I go to the hospital if I have contractions?"  # with a judged answer
LIGHTS = "Estoy de 35 semanas, veo lucecitas y me duele mucho la cabeza"  # likewise
AIR = "Con este calorón no pego el ojo. ¿Le hace algo a la criatura si dejo el clima prendido toda la noche?"
SPORTS = (  # likewise
    "¿Cuántos minutos de ejercicio por semana puedo hacer embarazada, qué deportes tengo que dejar y cómo sé si me estoy "
    "pasando de intensidad?"
)
IBUPROFEN = "Can I take ibuprofen at 30 weeks?"  # without


def verdict(app: AppTest) -> str:
    """The verdict, and what it rests on."""
    drawn = [one.proto.body for one in app.get("html") if 'class="rl-verdict"' in one.proto.body]
    assert len(drawn) == 1
    return text(drawn[0])


def test_a_judged_question_says_who_answers_and_how_the_others_lost_the_section(drawn):
    app = ask(drawn.run(), CONTRACTIONS)
    assert verdict(app).startswith(
        "A and C answer. B answers in part: it leaves out “Go in when contractions come about every 5 minutes, each of a "
        "minute, for an hour”. Judged"
    )
    assert "B lost it: cut by MMR: too similar to passage" in text(html(app))


def test_the_section_is_the_one_that_says_what_is_left_out_and_may_be_found_and_not_quoted(drawn):
    told = text(html(ask(drawn.run(), AIR)))
    assert "“Ventilador y aire acondicionado” answers it. C never found it." in told
    app = ask(drawn, SPORTS)
    told = text(html(app))
    assert "“Qué deportes evitar” answers it. C had it at 2 and did not quote it." in told
    way = text(html(press(app, "How it was lost")))
    assert "Answer #2 ✕ not quotedHad it at 2 and did not quote it." in way


def test_the_section_is_followed_through_the_stages_and_a_click_brings_it_back(drawn):
    app = press(ask(drawn.run(), LIGHTS), "How it was lost")
    way = text(html(app))
    assert all(step in way for step in ("Dense #", "Fusion #", "Cut #", "MMR ✕ lost here"))
    assert "Used at " in way
    press(app, "Set Variety step (MMR) to Off and run again")
    assert app.session_state["run"].columns[1].strategy.controls["mmr"] is False
    assert verdict(app).startswith("A, B and C answer. Judged")


def test_any_other_question_has_an_estimate_that_says_how_often_such_were_right(drawn, lab):
    told = verdict(ask(drawn.run(), IBUPROFEN))
    assert re.match(r"[ABC]((, B)? and [BC])? probably answers?\.", told)
    right = estimates(lab.settings.data)["answers"]
    assert f"Of test answers, {right.answered} of {right.of} that “probably answer” did" in told


def test_an_urgent_question_is_told_by_what_each_begins_with_and_who_lost_that_section(drawn):
    app = ask(drawn.run(), "my baby hasn't moved since last night, 34 weeks")
    assert verdict(app).startswith(
        "C begins with what to do now. A and B begin with our own notice of what to do now. Urgent"
    )
    why = text(html(app)).partition("“The baby moves less: what to do at once” says what to do now. ")[2]
    assert why.startswith("A never found it. B lost it: cut by MMR")
    assert "C is best" in [one.label for one in app.button]
    ask(app, "EPDS cut-off")
    assert "C is best" not in [one.label for one in app.button]  # all give one answer


def test_a_vote_is_told_beside_the_verdict_and_hidden_names_hide_both(drawn):
    drawn.run()
    press(drawn, "Present")
    press(drawn, "Next question")
    assert 'class="rl-verdict"' not in html(drawn)
    run = drawn.session_state["run"]
    run.best = (run.order[0],)
    press(drawn, "Reveal")
    assert "Voted best here: A." in verdict(drawn)


def test_where_nothing_judges_people_vote_beside_it_and_change_their_vote(start, server):
    written = iter(("Rest.", "Walk.", "Rest."))  # nothing is cited, so that nothing is estimated
    server.choose = lambda body: Reply(next(written)) if role_of(body) == "answer" else obliging(body)
    app = ask(start(OPENAI_BASE_URL=server.url, RAG_ABSTAIN="off").run(), IBUPROFEN)
    run = app.session_state["run"]
    assert verdict(app) == "Not judged: which answer is better?"
    labels = [one.label for one in app.button if str(one.key).startswith("vote.")]
    assert labels == ["A is best", "B is best", "C is best", "Equally good", "None is good enough"]
    walks = next(place for place, trace in enumerate(run.traces) if trace.answer.written == "Walk.")
    press(app, f"{'ABC'[walks]} is best")
    assert run.best == (walks,)
    assert verdict(app) == f"Voted best here: {'ABC'[walks]}."
    press(app, "Equally good")
    assert verdict(app) == "Voted here: all are equally good."
    press(app, "None is good enough")
    assert verdict(app) == "Voted here: none is good enough."
    server.choose = lambda body: Reply(json.dumps({str(n): {"verdict": "answers"} for n in (1, 2)}))
    press(app, offers(app)[0])
    assert verdict(app).startswith("Voted here: none is good enough. A, B and C answer. By ")  # people first


class TestByModel:
    """With a judge on a real server, which is asked on a click."""

    @pytest.fixture
    def asked(self, start: Callable[..., AppTest], server: OpenAIServer) -> AppTest:
        server.choose = with_verdict(Reply(json.dumps({"1": {"verdict": "partly", "why": "from which week"}})))
        app = start(OPENAI_BASE_URL=server.url, RAG_MODEL="gpt-4o", RAG_ABSTAIN="off").run()
        return ask(app, IBUPROFEN)

    def test_it_is_asked_once_at_a_price_and_its_verdict_stays(self, asked, server):
        assert "from which week" not in html(asked)
        (offer,) = offers(asked)
        assert re.fullmatch(r"Ask gpt-4o: at most \\\$0\.\d+", offer)
        before, sent = costs(asked), len(server.requests)
        press(asked, offer)
        assert len(server.requests) == sent + 1
        assert verdict(asked).startswith(
            "A, B and C answer in part: they leave out “from which week”. By gpt-4oJudged by a language model"
        )
        assert offers(asked) == []
        (call,) = asked.session_state["run"].later
        assert call.purpose == "judge"
        assert f"It cost ${call.cost_usd:.6f}." in verdict(asked)
        assert costs(asked) == pytest.approx(before + call.cost_usd, abs=0.0001)
        again = visitor()
        again.query_params["run"] = asked.session_state["run"].id
        assert "By gpt-4o" in verdict(again.run())
        assert len(server.requests) == sent + 1

    def test_a_failure_is_a_sentence_and_no_verdict(self, asked, server):
        server.choose = with_verdict(Status(400))
        before = verdict(asked)
        press(asked, offers(asked)[0])
        assert verdict(asked) == before
        assert any("gpt-4o" in one.value for one in asked.caption)
        assert len(offers(asked)) == 1

    def test_hidden_names_and_judged_questions_have_no_offer(self, asked):
        press(asked, "Present")
        assert offers(asked) == []
        press(asked, "Reveal")
        assert len(offers(asked)) == 1
        press(asked, "Leave")
        assert offers(ask(asked, CONTRACTIONS)) == []


def test_a_budget_that_is_used_up_refuses_the_judge(start, server):
    calls = 6  # three answers, and the three rewrites of multi-query
    app = start(OPENAI_BASE_URL=server.url, RAG_ABSTAIN="off", RAG_VISITOR_CALLS=str(calls)).run()
    ask(app, IBUPROFEN)
    assert len(server.requests) == calls
    press(app, offers(app)[0])
    assert any("Your budget" in one.value for one in app.caption)
    assert len(server.requests) == calls


def test_private_data_that_was_not_cleared_is_not_offered_to_a_judge_elsewhere(start, server):
    app = start(OPENAI_BASE_URL=server.url.replace("127.0.0.1", "0.0.0.0"), RAG_ABSTAIN="off").run()
    ask(app, "Ewa Nowak, b. 1986-04-30: can I take ibuprofen at 30 weeks?")
    press(app, "Send as typed")
    assert len(offers(app)) == 1
    del app.session_state["cleared"]  # as in another session that opens its address
    assert offers(app.run()) == []


def with_verdict(reply: Behaviour) -> Callable[[dict], Behaviour]:
    return lambda body: reply if "Verdicts as JSON" in str(body) else obliging(body)


def offers(app: AppTest) -> Sequence[str]:
    return [one.label for one in app.button if one.label.startswith("Ask ")]


def costs(app: AppTest) -> float:
    """US dollars in the cost line."""
    (line,) = [one.value for one in app.caption if one.value.startswith("Cost of this comparison")]
    found = re.search(r"[0-9]+\.[0-9]+", line)
    assert found
    return float(found[0])
