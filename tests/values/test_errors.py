"""Errors of other code in our words: a disk that fails is named, and only what nobody knows is a bug."""

import errno
import importlib
import socket
from pathlib import Path

import pytest

from rag_core.values.errors import ProviderError, StageError, StorageError, in_our_words
from rag_core.values.message import Message
from rag_core.values.types import Passage
from rag_core.values.where import fits

GLOVES = Passage("a", "a", "Gloves", "Gloves lie on shelf A3.")


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "the disk cannot be used: No space left on device.",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "/x/y"),
            "/x/y cannot be used: Permission denied.",
        ),
        (OSError(errno.EROFS, "Read-only file system", "/x"), "/x cannot be used: Read-only file system."),
    ],
)
def test_a_disk_that_fails_in_a_stage_is_no_bug(fault, told):
    error = StageError("mine", "Broken", fault)
    assert error.message == f"mine: stage Broken failed: {told}"
    assert error.next_step == "Free disk space or make the folder writable, then try again."


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_write_to_a_full_device_is_a_fault_of_the_disk():
    with pytest.raises(OSError, match="No space") as full:
        Path("/dev/full").write_text("x")
    assert isinstance(in_our_words(full.value), StorageError)


@pytest.mark.parametrize(
    "fault",
    [
        ConnectionResetError(errno.ECONNRESET, "reset"), TimeoutError(errno.ETIMEDOUT, "slow"),
        socket.gaierror(socket.EAI_NONAME, "unknown host"), OSError(errno.ENETUNREACH, "unreachable"), KeyError("x"),
    ],
)  # fmt: skip
def test_what_is_not_the_disk_is_not_called_one(fault):
    error = StageError("mine", "Broken", fault)
    assert error.message.startswith(f"mine: stage Broken failed: {type(fault).__name__}: ")
    assert error.next_step.startswith("This is a bug")


def test_a_known_error_stays_itself():
    error = ProviderError("The provider refused.", "Check the key.")
    assert in_our_words(error) is error


def test_an_error_can_be_said_in_another_language_and_still_repeats_no_secret():
    error = ProviderError(
        Message("Model {model}: {what}.", model="m", what=Message("refused ({reason})", reason="at\nhttp://u:p@h/x?key=k")),
        Message("Check {setting}.", setting="OPENAI_API_KEY"),
    )  # fmt: skip
    assert error.message == "Model m: refused (at http://h/x)."
    assert isinstance(error.message, Message)
    assert isinstance(error.next_step, Message)
    assert error.message.template == "Model {model}: {what}."
    assert error.message.fields["what"].fields == {"reason": "at http://h/x"}


def test_a_secret_that_only_the_whole_message_shows_is_taken_out_too():
    error = ProviderError(Message("{url}?key={key} failed.", url="http://h/x", key="k"))
    assert error.message == "http://h/x failed."


def test_a_failed_stage_gives_its_reason_in_parts():
    cause = ProviderError(Message("the reply was empty."), Message("Try again."))
    error = StageError("mine", "Broken", cause)
    assert isinstance(error.message, Message)
    assert isinstance(error.message.fields["reason"], Message)
    assert str(error) == "mine: stage Broken failed: the reply was empty. Try again."


def test_the_fault_of_another_package_is_no_bug_of_ours(tmp_path, monkeypatch):
    (tmp_path / "faulty_rag.py").write_text("import json\n\n\ndef search():\n    json.loads('{')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="Expecting") as fault:
        importlib.import_module("faulty_rag").search()  # by way of a library
    where = "faulty_rag (faulty_rag.py, line 5)"
    assert in_our_words(fault.value).next_step == f"The fault is in {where}, which is not part of the lab."
    with pytest.raises(ValueError, match="Expecting") as fault:
        fits(GLOVES, "{")
    assert in_our_words(fault.value).next_step.startswith("This is a bug")
