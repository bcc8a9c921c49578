"""Why a file cannot be read, with what to do about it: for people who know Word and PDF, not Python."""

import csv
import zipfile
from xml.etree.ElementTree import ParseError

from ...values.errors import why_unreadable
from ...values.message import Message

EMPTY = Message("the file is empty")
_DAMAGED = {
    ".docx": Message(
        "it is not a Word document, is damaged or has a password; open it in Word and save it again as .docx"
    ),
    ".xlsx": Message(
        "it is not an Excel workbook, is damaged or has a password; open it in Excel and save it again as .xlsx"
    ),
    ".pdf": Message("it is not a PDF, or is damaged; open it in a PDF reader and save it again"),
}


def reason_of(error: Exception, suffix: str) -> str:
    """The reason for an error of a reader or of the library behind it, by the file's suffix."""
    if isinstance(error, OSError):
        return Message("it cannot be opened ({reason})", reason=why_unreadable(error))
    if isinstance(error, csv.Error):
        if "field limit" in str(error):
            return Message(
                "a cell has more than {most:,} characters; is a quotation mark left open?",
                most=csv.field_size_limit(),
            )
        return Message("it is not a table ({reason}); save it again as CSV", reason=why_unreadable(error))
    if isinstance(error, ParseError) and "amplification" in str(error):
        return Message(
            "its text multiplies itself when it is opened; open it in Word and save it again as .docx"
        )
    if suffix == ".pdf" and (locked := _why_locked(error)):
        return locked
    damaged = _DAMAGED.get(suffix)
    if damaged and isinstance(error, (zipfile.BadZipFile, ParseError, KeyError, *_pdf_errors(suffix))):
        return damaged
    what = damaged or Message("it cannot be read")
    return Message("{what} ({reason})", what=what, reason=why_unreadable(error))


def _pdf_errors(suffix: str) -> tuple[type[Exception], ...]:
    if suffix != ".pdf":
        return ()
    from pypdf.errors import PyPdfError

    return (PyPdfError,)


def _why_locked(error: Exception) -> str:
    from pypdf.errors import DependencyError, FileNotDecryptedError

    if isinstance(error, DependencyError):  # its sentence names the package
        return Message("it is encrypted ({reason}); save it without encryption", reason=why_unreadable(error))
    if isinstance(error, FileNotDecryptedError):
        return Message("it has a password; save it without one")
    return ""
