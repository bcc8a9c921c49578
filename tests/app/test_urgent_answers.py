import re
from html import unescape
from urllib.parse import parse_qs

import pytest
from helpers.behaviours import Reply
from helpers.in_process import ask, html, text

from pages.drawing.pieces import dial
from rag_core.values.profile import Profile

DESPAIR = "Desde que nació mi bebé lloro todo el día y no quiero vivir"
BREATHING = "I am struggling to breathe at rest, 30 weeks"


def test_an_offline_answer_to_an_emergency_stands_below_and_begins_with_what_to_do(drawn):
    ask(drawn.run(), DESPAIR)
    shown = html(drawn)
    notice = re.search(r'class="rl-urgent[^>]*lang="es"', shown)
    assert "No está sola." in shown[notice.end() :]
    assert notice.start() < shown.index(" data-said")
    assert "rl-buried" not in shown
    assert "<b>A, B and C</b> begin with what to do now." in shown
    for of_ours in shown.split('class="rl-notice"')[1:]:
        assert text("<p " + of_ours).startswith("Aviso de esta demostración")
    assert "lloran por" not in shown


def test_a_model_that_buries_the_action_is_outlined_and_counted(start, server):
    server.choose = lambda body: Reply("Breathlessness is common [1]. Call the emergency number now [1].")
    app = ask(start(OPENAI_BASE_URL=server.url).run(), BREATHING)
    shown = html(app)
    assert shown.count("rl-buried") == 3
    assert shown.count("This answer does not begin with what to do now.") == 3
    assert "<b>A, B and C</b> do not begin with what to do now." in shown


def test_documents_about_another_subject_have_no_notice_above_the_results(drawn, monkeypatch):
    monkeypatch.setattr("pages.shared.corpora.profile", lambda name: Profile("bicycles"))
    ask(drawn.run(), BREATHING)
    assert "Results for:" in html(drawn)
    assert "rl-urgent" not in html(drawn)


def test_the_banner_asks_for_the_country_and_then_has_a_number_to_call(drawn):
    ask(drawn.run(), BREATHING)
    assert "tel:" not in html(drawn)
    drawn.selectbox(key="country.urgent").set_value("ES").run()
    banner = html(drawn).partition('class="rl-urgent')[2].partition("</div>")[0]
    assert 'Emergency number in Spain: <a href="tel:112">112</a>.' in banner
    assert drawn.selectbox(key="country").value == "ES"
    assert "country.urgent" not in [one.key for one in drawn.selectbox]


@pytest.mark.parametrize(
    ("said", "called"),
    [
        ("116 123 (Samaritans) / 111, option 2 (NHS)", ["116123", "111"]),
        ("1800 737 732 (1800RESPECT)", ["1800737732"]),
        ("1-833-852-6262", ["18338526262"]),
        ("*4141", ["*4141"]),
    ],
)
def test_every_phone_number_is_a_link_that_calls_it(said, called):
    drawn = dial(said)
    assert re.findall(r'href="tel:([^"]*)"', drawn) == called
    assert text(drawn) == said


def test_the_banner_goes_with_an_urgent_question_to_the_document(drawn):
    drawn.session_state["country"] = "GB"
    ask(drawn.run(), BREATHING)
    address = unescape(html(drawn).partition('href="documents?')[2].partition('"')[0])
    for name, values in parse_qs(address).items():
        drawn.query_params[name] = values
    drawn.switch_page("pages/documents/documents.py").run()
    assert not drawn.exception
    banner = html(drawn).partition('class="rl-urgent')[2].partition("</div>")[0]
    assert "tel:999" in banner
    assert BREATHING not in text(html(drawn))
