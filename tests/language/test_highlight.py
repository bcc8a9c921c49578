import pytest

from rag_core.language.highlight import Segment, highlight

TEXT = "Cats sleep.\nThey  purr at\nnight. Dogs bark."


@pytest.mark.parametrize("quotes", [(), ("They purr at night.",), ("", "Not in the text."), (TEXT,)])
def test_the_segments_joined_are_the_text(quotes):
    assert "".join(segment.text for segment in highlight(TEXT, "Do dogs sleep?", "en", quotes)) == TEXT


def test_words_of_the_question_are_matched_by_their_stem():
    matched = [segment.text for segment in highlight(TEXT, "a dog sleeping", "en") if segment.matched]
    assert matched == ["sleep", "Dogs"]


def test_a_quote_is_found_whatever_its_white_space():
    segments = highlight(TEXT, "purr", "en", ["They purr at night."])
    assert [segment for segment in segments if segment.quoted] == [
        Segment("They  ", False, True), Segment("purr", True, True), Segment(" at\nnight.", False, True),
    ]  # fmt: skip


def test_a_quote_that_is_not_in_the_text_is_ignored():
    assert highlight("Cats sleep.", "dogs", "en", ["Dogs bark.", ""]) == [
        Segment("Cats sleep.", False, False)
    ]
