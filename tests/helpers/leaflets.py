"""Three leaflets of a library as a corpus, and a model that drafts a question of each."""

from pathlib import Path
from typing import Any

import pytest

from .behaviours import Reply
from .small import Rag
from .source_files import write

LEAFLETS = {
    "cards.md": "# Cards\n\nA library card is free and lasts two years.\n",
    "fines.md": "# Fines\n\nA late book costs 10 cents a day.\n",
    "rooms.md": "# Rooms\n\nA study room is booked online, two weeks ahead.\n",
}
ASKED = {
    "card": "How long does a library card last?",
    "late": "What does a late book cost?",
    "room": "How is a room booked?",
}


def drafted(body: dict[str, Any]) -> Reply:
    """A question of whichever leaflet was sent, for 1,000 tokens sent and 100 received."""
    sent = str(body["messages"])
    return Reply(f"1. {next(ASKED[word] for word in ASKED if word in sent)}", usage=(1000, 100))


def index_leaflets(folder: Path, monkeypatch: pytest.MonkeyPatch, rag: Rag, **more: str) -> Path:
    """The state folder with the leaflets, and files of theirs, as the corpus "leaflets"; the program's from now on."""
    monkeypatch.setenv("RAG_HOME", str(folder / "home"))
    ran = rag("index", str(write(folder / "files", LEAFLETS | more)), "--corpus", "leaflets")
    assert ran.code == 0, ran.err
    return folder / "home"
