import json
import random
import re
from datetime import UTC, datetime
from html import unescape

import pytest
from helpers.behaviours import Reply

import rag_core
from rag_core.runtime.services import Services
from rag_core.sessions.panel.minutes import minutes
from rag_core.sessions.panel.room import Candidate, Pair, Question, Room, Round, Vote
from rag_core.sessions.panel.session import PanelSession, open_panel, write_panel
from rag_core.values.answers import without_bold
from rag_core.values.errors import DataError

WHEN = datetime(2026, 5, 4, 12, tzinfo=UTC)
ROOM = Room("A7K3M", "Ward <3>", WHEN)


@pytest.fixture
def room(full: Services) -> tuple[Room, list[Round], list[Vote]]:
    def asked(number: int, text: str, language: str) -> Round:
        answers = tuple(Candidate(name, rag_core.build(name).run(text, full)) for name in ("bm25", "simple_semantic"))
        return Round(ROOM.code, number, WHEN, Question(text, answers, language), closed=True, revealed=True)

    rounds = [asked(1, "Where do cats sleep?", "en"), asked(2, "Do dogs bark?", "es")]
    votes = [
        Vote(number, person, Pair(0, 1), choice, WHEN, ("correct",), f"<b>{person}</b>: señal")
        for number, person, choice in [(1, "p1", "left"), (1, "p2", "left"), (2, "p1", "both_unsafe"), (2, "p2", "tie")]
    ]  # fmt: skip
    return ROOM, rounds, votes


@pytest.fixture
def text(room: tuple[Room, list[Round], list[Vote]]) -> str:
    return write_panel(*room)


def test_a_file_is_json_and_opens_as_the_same_room_with_traces_that_draw_the_same_screens(room, text):
    opened = open_panel(text)
    assert write_panel(opened.room, opened.rounds, opened.votes) == text
    assert (opened.room, list(opened.votes)) == (room[0], room[2])
    entries = json.loads(text)["panel"]
    assert [one["entry"]["kind"] for one in entries] == ["room", *["question"] * 2, *["vote"] * 4, "end"]
    assert opened.sha256 == entries[-1]["sha256"]
    assert {"python", "evalica"} <= opened.versions.keys()


@pytest.mark.parametrize("seed", range(10))
def test_one_changed_character_is_found_and_its_entry_named(text, seed):
    chance = random.Random(seed)
    lines = text.split("\n")
    starts = len(lines[0]) + 1, len(text) - len("\n]}\n")
    place = chance.randrange(*starts)
    while text[place] == "\n":
        place = chance.randrange(*starts)
    other = chance.choice([one for one in '09afxX"\\,:{}[] ' if one != text[place]])
    line = text.count("\n", 0, place) + 1
    with pytest.raises(DataError, match=rf"Entry {line - 1} of the panel's file, on line {line}, "):
        open_panel(text[:place] + other + text[place + 1 :])


@pytest.mark.parametrize("line", [1, 4, -4])
def test_a_missing_entry_is_found(text, line):
    lines = text.split("\n")
    del lines[line]
    with pytest.raises(DataError, match=r"Entry \d+ of the panel's file"):
        open_panel("\n".join(lines))


def test_a_file_without_its_end_or_frame_is_refused(text):
    lines = text.split("\n")
    cut = [*lines[:-4], lines[-4].removesuffix(","), *lines[-2:]]
    for altered, said in (("\n".join(cut), "not all of its entries"), (text + " ", "first or the last line")):
        with pytest.raises(DataError, match=said):
            open_panel(altered)


def test_replay_runs_every_question_again_and_names_what_differs(rag, room, animals, server, tmp_path):
    def asked(number: int, text: str) -> Round:
        answers = tuple(Candidate(label, animals.run(text, "bm25", k_final=k)) for label, k in (("a", 1), ("b", 2)))
        return Round(ROOM.code, number, WHEN, Question(text, answers))

    text = write_panel(ROOM, [asked(1, "Where do cats sleep?"), asked(2, "Do dogs bark?")], [])
    path = tmp_path / "room.json"
    path.write_text(text)
    assert "no differences" in rag("replay", str(path), "--strict").out
    server.choose = lambda body: Reply("Dogs bark [1].", usage=(1000, 200))
    ran = rag("replay", str(path), "--strict", "--json")
    assert ran.code == 1
    told = {
        (one["question"], trace["label"]): [row["what"] for row in trace["differences"]]
        for one in ran.json["questions"]
        for trace in one["traces"]
    }
    questions = ("Where do cats sleep?", "Do dogs bark?")
    assert told == {(question, label): ["answer"] for question in questions for label in "ab"}
    path.write_text(text.replace("Do dogs bark?", "Do dogs bite?", 1))
    refused = rag("replay", str(path))
    assert (refused.code, "Entry 3 of the panel's file" in refused.err) == (1, True)


def test_the_minutes_say_who_leads_what_was_unsafe_and_the_files_hash(text):
    opened: PanelSession = open_panel(text)
    page = minutes(opened)
    seen = re.sub(r"<[^>]*>", " ", page)
    assert "Ward &lt;3&gt;" in page
    assert "&lt;b&gt;p1&lt;/b&gt;: señal" in page
    assert "<b>p1" not in page
    assert opened.sha256 in page
    assert "Votes: 4. Both answers unsafe: 1, left out" in seen
    assert "by chance): 0.40." in seen  # 1 − (2 / 4) / (10 / 12): pairs of unlike votes, observed and by chance
    assert "Ranking, language: es" in seen
    for asked in opened.rounds:
        for one in asked.question.answers:  # every answer that was judged, with the titles of what it cites
            assert one.trace.answer.citations
            words = without_bold(one.trace.answer.written)
            assert " ".join(words.split()) in " ".join(unescape(re.sub(r"<[^>]*>", "", page)).split())
            cited = {one.trace.ranking.hits[each.n - 1].passage.full_title for each in one.trace.answer.citations}
            assert all(f"] {title}" in unescape(seen) for title in cited)
    assert "1=" in seen  # two votes tell nobody apart
