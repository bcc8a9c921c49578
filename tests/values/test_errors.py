"""Errors of other code in our words: a disk that fails is named, and only what nobody knows is a bug."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from rag_core.values.errors import ProviderError, StageError, StorageError, in_our_words


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
def test_a_disk_that_fails_in_a_stage_is_no_bug(fault: OSError, told: str):
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
def test_what_is_not_the_disk_is_not_called_one(fault: Exception):
    error = StageError("mine", "Broken", fault)
    assert error.message.startswith(f"mine: stage Broken failed: {type(fault).__name__}: ")
    assert error.next_step.startswith("This is a bug")


def test_a_known_error_stays_itself():
    error = ProviderError("The provider refused.", "Check the key.")
    assert in_our_words(error) is error
