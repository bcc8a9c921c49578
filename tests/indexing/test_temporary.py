"""Temporary folders go with their process, and nothing else goes with them."""

from contextlib import ExitStack

from rag_core.indexing.uploads import clear_leftovers, temporary_folder

PREFIX = "rag-test-"


def test_a_folder_that_a_killed_process_left_goes_and_nothing_else_does(tmp_path):
    for name in ("mine", f"{PREFIX}left", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "mine")
    (tmp_path / f"{PREFIX}new").mkdir()  # not locked yet
    with ExitStack() as served:
        used = temporary_folder(tmp_path, served, PREFIX)
        (used / "file").touch()
        clear_leftovers(tmp_path, PREFIX)
        assert {path.name for path in tmp_path.iterdir()} == {
            "mine", "other", f"{PREFIX}link", f"{PREFIX}new", used.name,
        }  # fmt: skip
        assert [(tmp_path / name / "file").exists() for name in ("mine", "other", used.name)] == [True] * 3
    assert not used.exists()
