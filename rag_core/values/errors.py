"""Every error rag_core raises on purpose, and how those of others are put in our words."""

import errno
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

from .message import Message

Read = TypeVar("Read")

_ABOUT_A_PATH = (PermissionError, FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError)
_ABOUT_THE_DISK = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EROFS", "EIO", "EFBIG", "EMFILE", "ENFILE", "ESTALE", "ENAMETOOLONG")
    if hasattr(errno, name)
}
# secrets inside a URL
_USER = re.compile(r"(?<=://)[^\s/'\"<>]*@")
_QUERY = re.compile(r"(\w+://[^\s?#'\"<>]*)[?#][^\s'\"<>]*")
_SECRET = "(?:key|token|secret|password|passwd|pwd)"
# A server's error may repeat the path without the host, so NAME=VALUE is masked there too, NAME/VALUE only in a URL
_NAMED = re.compile(rf"([/;?&][\w.%-]*{_SECRET}(?:[=:]|%3d|%3a))[^\s/;&'\"<>]+", re.IGNORECASE)
_FOLDER = re.compile(rf"(/(?:[a-z0-9]+[-_.])*(?:api|access|auth)?{_SECRET}/)[^\s/;'\"<>]+", re.IGNORECASE)
_URL = re.compile(r"\w+://[^\s'\"<>]+")


class RagError(Exception):
    """The base class.

    Args:
        message: what happened and where, in one sentence; a Message where a user of the app meets the error, so
            that it can be said in another language.
        next_step: what the user can do about it, likewise; empty when there is nothing to do.
        calls: the model calls (types.ModelCall) made before the error, which are billed.
    """

    def __init__(self, message: str, next_step: str = "", calls: tuple[Any, ...] = ()) -> None:
        self.message = message.cleaned(_shown) if isinstance(message, Message) else _shown(message)
        self.next_step = next_step
        self.calls = calls
        super().__init__(self.message)

    @property
    def sentence(self) -> Message:
        return Message.joined((part for part in (self.message, self.next_step) if part), " ")

    def __str__(self) -> str:
        return str(self.sentence)


class ConfigError(RagError):
    """An unknown strategy, control or metric, or an invalid value; raised before anything runs."""


class SettingsError(ConfigError):
    """A setting has an invalid value, or a required one is not set."""


class InputError(RagError):
    """The user's question, file or folder cannot be used."""


class DataError(RagError):
    """A corpus, document or result file is missing or malformed."""


class IndexDamaged(RagError):
    """An index on disk is incomplete or corrupt; the message names the damaged part."""


class IndexOutdated(IndexDamaged):
    """An index on disk has the format of another version."""


class IndexBusy(RagError):
    """Another process is writing this index."""


class StorageError(RagError):
    """The state folder cannot be written."""


class MissingResource(RagError):
    """A model, key or package this run needs is missing on this machine."""


class ProviderError(RagError):
    """A model provider refused the call, failed or timed out."""


class LimitReached(RagError):
    """The run has reached the limit on model calls or cost in the settings."""


class PanelError(RagError):
    """A room of the panel is not there, or does not allow what was asked of it."""


class StageError(RagError):
    """A stage failed, by `__cause__`; `calls` covers the entire run, `exchanges` what the stage asked models."""

    def __init__(
        self,
        strategy: str,
        stage: str,
        cause: Exception,
        calls: tuple[Any, ...] = (),
        exchanges: tuple[Any, ...] = (),
    ) -> None:
        known = in_our_words(cause)
        what = Message(
            "{strategy}: stage {stage} failed: {reason}", strategy=strategy, stage=stage, reason=known.message
        )
        super().__init__(what, known.next_step, calls)
        self.strategy = strategy
        self.stage = stage
        self.exchanges = exchanges


class Stopped(RagError):
    """The run was stopped before it finished."""

    def __init__(self, calls: tuple[Any, ...] = ()) -> None:
        super().__init__(Message("The run was stopped."), Message("Finished results are kept."), calls)


def without_url_secrets(text: str) -> str:
    """A text whose URLs have lost user name, password, query and fragment, and what their path calls a secret."""
    if "://" in text:
        text = _QUERY.sub(r"\1", _USER.sub("", text))
        text = _URL.sub(lambda url: _FOLDER.sub(r"\1…", url[0]), text)
    return _NAMED.sub(r"\1…", text)


def _shown(text: str) -> str:
    """One line, as messages of libraries have line breaks, without secrets."""
    return without_url_secrets(" ".join(text.split()))


def in_our_words(error: Exception) -> RagError:
    """An error of any kind as one of ours: a fault of the disk or of others' code says so, anything else is a bug."""
    if isinstance(error, RagError):
        return error
    if isinstance(error, _ABOUT_A_PATH) or (type(error) is OSError and error.errno in _ABOUT_THE_DISK):
        what = error.filename or Message("the disk")
        return StorageError(
            Message("{file} cannot be used: {reason}.", file=what, reason=error.strerror or error),
            Message("Free disk space or make the folder writable, then try again."),
        )
    step = whose_fault(error) or Message("This is a bug; please report it with this message.")
    return RagError(f"{type(error).__name__}: {error}", step)


def whose_fault(error: Exception) -> str:
    """Where the code of others, such as a strategy, raised an error, as a next step; empty for ours, and for a library that we called."""
    plugins = {one.module.partition(".")[0] for one in entry_points(group="rag_core.strategies")}
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package in ("rag_core", "pages"):
            break
        library = package in sys.stdlib_module_names or "site-packages" in frame.f_code.co_filename
        if package in plugins or not library:
            at = {"package": package, "file": Path(frame.f_code.co_filename).name, "line": line}
            return Message("The fault is in {package} ({file}, line {line}), which is not part of the lab.", **at)
    return ""


@contextmanager
def attach_calls_to_errors(calls: Iterable[Any]) -> Iterator[None]:
    """Add these model calls to every RagError raised in the block; `calls` may grow until then."""
    try:
        yield
    except RagError as error:
        error.calls = tuple(dict.fromkeys([*calls, *error.calls]))
        raise


def why_unreadable(error: Exception) -> str:
    """A reason that completes "it cannot be read: …", without a full stop."""
    if isinstance(error, UnicodeError):
        return Message("it is not UTF-8")
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, RecursionError):
        return Message("it is nested too deeply")
    if "set_int_max_str_digits" in str(error):  # int() on what a parser took for a number
        return Message("a number has more than {most:,} digits", most=sys.get_int_max_str_digits())
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def unreadable(path: Path, error: Exception, step: str) -> DataError:
    """The error for a file or folder that cannot be read; `step` says what to do."""
    return DataError(Message("{path} cannot be read: {reason}.", path=path, reason=why_unreadable(error)), step)


def unwritable(path: object, error: OSError, step: str) -> StorageError:
    """The error for a file or folder that cannot be written; `step` says what to do."""
    return StorageError(Message("{path} cannot be written: {reason}.", path=path, reason=error.strerror or error), step)


def read_data_file(path: Path, parse: Callable[[str], Read]) -> Read:
    """What `parse` makes of a file's text; raises DataError if that is missing, not UTF-8 or incomplete."""
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            Message("{path} cannot be read: {reason}.", path=path, reason=repr(error)),
            Message("Restore {path}.", path=path),
        ) from error
