"""A corpus's subject, audience and languages, which fill in prompts and notices."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from .errors import ConfigError, DataError, unreadable
from .message import Message
from .sources import listed
from .translation import language_name
from .visible import IGNORABLE

PROFILE_FILE = "profile.toml"  # next to a corpus's documents
MAX_LENGTH = 200  # characters, of subject and audience each
MAX_BYTES = 8_000  # of the file; tomllib takes quadratic time over a dotted key

_CODE = re.compile(r"[a-z]{2,3}")
_UNSAFE_IN_PROMPT = re.compile(rf"[\x00-\x1f\x7f-\x9f\u2028\u2029{{}}<>{IGNORABLE}]")


@dataclass(frozen=True, slots=True)
class Profile:
    """What a corpus is about.

    Args:
        subject: a phrase that follows "about" ("pregnancy, birth and the time after it"); empty when
            unknown. It decides whether questions are read for urgent signs and with the thesaurus
            (`language.questions.is_maternity`).
        audience: a phrase that follows "for" ("health professionals"); empty for anyone.
        languages: ISO 639-1 codes of the documents, most frequent first; empty to detect them.
    """

    subject: str = ""
    audience: str = ""
    languages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("subject", "audience"):
            text = getattr(self, name)
            if not isinstance(text, str) or len(text) > MAX_LENGTH or _UNSAFE_IN_PROMPT.search(text):
                raise ConfigError(
                    Message(
                        "{name} must be one line of at most {most} characters without <, >, {{ or }}, not {text!r}.",
                        name=name,
                        most=MAX_LENGTH,
                        text=text,
                    ),
                    Message('Write a phrase such as "pregnancy and birth".'),
                )
        if not isinstance(self.languages, tuple) or not all(
            isinstance(code, str) and _CODE.fullmatch(code) for code in self.languages
        ):
            given = list(self.languages) if isinstance(self.languages, tuple) else self.languages
            raise ConfigError(
                Message("languages must be ISO 639-1 codes, not {given}.", given=repr(given)),
                Message('Write codes such as "en" and "es".'),
            )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """A profile from TOML or JSON; raises ConfigError, which begins with the key, if one is wrong."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise ConfigError(
                    Message("{name} is not a profile key.", name=name),
                    Message("The keys are {known}.", known=", ".join(known)),
                )
        languages = values.get("languages", ())
        return cls(**{**values, "languages": tuple(languages) if isinstance(languages, list) else languages})

    def fill(self, text: str) -> str:
        """A text with its {about} and {readers} filled in, as in "questions{about}{readers}"."""
        about = f" about {self.subject}" if self.subject else ""
        readers = f" for {self.audience}" if self.audience else ""
        return text.replace("{about}", about).replace("{readers}", readers)


def read_profile(folder: Path) -> Profile | None:
    """The profile of a folder of documents, or None; raises DataError, with file and line, if malformed."""
    path = folder / PROFILE_FILE
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise DataError(
                Message("{path} is larger than {limit}.", path=path, limit=f"{MAX_BYTES:,} bytes"),
                Message("Write subject, audience and languages only."),
            )
        text = content.decode("utf-8-sig")
        return Profile.of(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).partition(" (at ")
        line = re.search(r"line (\d+)", place)
        where = f", line {line[1]}" if line else ", last line"
        raise DataError(
            Message("{path}{where}: {what}.", path=path, where=where, what=what),
            Message("Fix the line; values need quotes."),
        ) from error
    except ConfigError as error:
        name = error.message.partition(" ")[0]
        number = next((n for n, line in enumerate(text.splitlines(), 1) if re.match(rf"\s*[\"']?{name}\b", line)), 1)
        raise DataError(
            Message("{path}, line {number}: {reason}", path=path, number=number, reason=error.message),
            error.next_step,
        ) from error
    # ValueError: not UTF-8, or a number of thousands of digits
    except (OSError, ValueError, RecursionError) as error:
        raise unreadable(path, error, Message("Correct or remove it.")) from error


def language_list(languages: Sequence[str], language: str = "en") -> str:
    """Languages in words, such as "English and Spanish"; unknown codes stay as they are."""
    return listed((language_name(code, language) for code in languages), language)
