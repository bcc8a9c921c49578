"""What went wrong, in words for a reader; names of classes and tracebacks go to the server's log."""

import logging

import rag_core

_log = logging.getLogger(__name__)


def unforeseen(error: Exception) -> rag_core.RagError:
    """An error of any kind as one that a page can show."""
    if isinstance(error, rag_core.RagError):
        return error
    _log.error("An unexpected error", exc_info=error)
    what = _unexpected(error)
    return rag_core.RagError(what, rag_core.Message("This is a bug; please report it with the server's log."))


def reason(error: rag_core.RagError) -> str:
    """What went wrong, without the strategy and stage: what shows it says those."""
    cause = error.__cause__
    if isinstance(cause, rag_core.RagError):
        return cause.message
    return error.message if cause is None else _unexpected(cause)


def _unexpected(error: BaseException) -> rag_core.Message:
    if told := " ".join(str(error).split()):
        return rag_core.Message("Something unexpected went wrong: {reason}", reason=told)
    return rag_core.Message("Something unexpected went wrong.")
