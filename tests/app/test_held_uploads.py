"""Files that are chosen and not added: how many a visitor and all may have there, and that they go with their visitor."""

from types import SimpleNamespace

import pytest
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from pages.frame import gate
from pages.frame.gate import Held


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> MemoryUploadedFileManager:
    """Those of a runtime whose visitors are all gone."""
    kept = MemoryUploadedFileManager("/upload")
    sessions = SimpleNamespace(_session_storage=MemorySessionStorage(ttl_seconds=0))
    server = SimpleNamespace(uploaded_file_mgr=kept, _session_mgr=sessions)
    monkeypatch.setattr("streamlit.runtime.get_instance", lambda: server)
    monkeypatch.setattr(gate, "MOST_OF_VISITOR", 20)
    monkeypatch.setattr(gate, "MOST", 50)
    return kept


def uploaded(limits: Held, files: MemoryUploadedFileManager, visitor: str, session: str, size: int) -> bool:
    with limits.upload(visitor, session, size) as fits:
        if fits:
            name = str(len(files.file_storage[session]))
            files.add_file(session, UploadedFileRec(name, "a.txt", "text/plain", bytes(size)))
    return fits


def test_sixty_files_of_a_visitor_are_as_many_as_fit_over_all_of_their_sessions(files):
    limits = Held()
    assert [uploaded(limits, files, "ana", f"s{place % 3}", 2) for place in range(60)] == [True] * 10 + [False] * 50
    assert uploaded(limits, files, "ben", "s3", 20)
    assert not uploaded(limits, files, "eva", "s4", 11)  # 20 + 20 + 11 of 50
    files.remove_session_files("s3")
    assert uploaded(limits, files, "eva", "s4", 11)


def test_files_that_are_on_their_way_count_and_no_longer_when_they_fail(files):
    limits = Held()
    with limits.upload("ana", "s", 20) as first:
        assert (first, uploaded(limits, files, "ana", "s", 1)) == (True, False)
    assert uploaded(limits, files, "ana", "s", 20)


def test_what_a_visitor_left_goes_without_another_visit(files):
    ended: list[str] = []

    def shutdown() -> None:
        files.remove_session_files("gone")

    state = SimpleNamespace(clear=lambda: ended.append("widgets"))
    session = SimpleNamespace(id="gone", shutdown=shutdown, session_state=state)
    assert uploaded(Held(), files, "ana", "gone", 20)
    assert uploaded(Held(), files, "ben", "here", 20)
    gate.runtime.get_instance()._session_mgr._session_storage.save(SimpleNamespace(session=session))
    gate.sweep()
    assert (list(files.file_storage), ended) == (["here"], ["widgets"])
