"""What a corpus is about, for whom, and in which languages: prompts and notices take their words from here."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .errors import ConfigError, DataError

FILE = "profile.toml"  # beside a corpus's documents
LONGEST = 200  # characters of subject and audience
LANGUAGE_NAMES: Mapping[str, str] = {
    "ar": "Arabic", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "es": "Spanish", "eu": "Basque", "fi": "Finnish", "fr": "French", "gl": "Galician",
    "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese",
    "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "sv": "Swedish", "sw": "Swahili", "tr": "Turkish", "uk": "Ukrainian",
    "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip

_CODE = re.compile(r"[a-z]{2,3}")
_NOT_IN_A_PROMPT = re.compile(r"[\n\r{}<>]")


@dataclass(frozen=True, slots=True)
class Profile:
    """What a corpus is about.

    Args:
        subject: a phrase as it stands behind "about" ("pregnancy, birth and the time after it"); empty when
            unknown.
        audience: a phrase as it stands behind "for" ("health professionals"); empty for anybody.
        languages: ISO 639-1 codes of the documents, the most frequent first; empty for what is detected.
    """

    subject: str = ""
    audience: str = ""
    languages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("subject", "audience"):
            text = getattr(self, name)
            if not isinstance(text, str) or len(text) > LONGEST or _NOT_IN_A_PROMPT.search(text):
                raise ConfigError(
                    f"{name} must be one line of at most {LONGEST} characters without <, >, {{ or }}, "
                    f"not {text!r}.",
                    'Write a phrase such as "pregnancy and birth".',
                )
        if not isinstance(self.languages, tuple) or not all(
            isinstance(code, str) and _CODE.fullmatch(code) for code in self.languages
        ):
            given = list(self.languages) if isinstance(self.languages, tuple) else self.languages
            raise ConfigError(
                f"languages must be ISO 639-1 codes, not {given!r}.", 'Write codes such as "en" and "es".'
            )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Profile:
        """A profile from plain values, a list of languages among them.

        Raises:
            ConfigError: a name is unknown, or a value is wrong; its message begins with the name.
        """
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise ConfigError(f"{name} is no key of a profile.", f"Its keys: {', '.join(known)}.")
        languages = values.get("languages", ())
        return cls(**{**values, "languages": tuple(languages) if isinstance(languages, list) else languages})

    def fill(self, text: str) -> str:
        """A text with its {about} and {readers} filled in, as in "questions{about}{readers}"."""
        about = f" about {self.subject}" if self.subject else ""
        readers = f" for {self.audience}" if self.audience else ""
        return text.replace("{about}", about).replace("{readers}", readers)


def read_profile(folder: Path) -> Profile | None:
    """The profile beside the documents of a folder; None when there is none.

    Raises:
        DataError: naming file and line of what is wrong.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        text = path.read_text(encoding="utf-8-sig")
        return Profile.of(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).partition(" (at ")
        line = re.search(r"line (\d+)", place)
        where = f", line {line[1]}" if line else ", last line"
        raise DataError(f"{path}{where}: {what}.", "Mend the line; values stand in quotes.") from error
    except ConfigError as error:
        name = error.message.partition(" ")[0]
        number = next(
            (n for n, line in enumerate(text.splitlines(), 1) if re.match(rf"\s*[\"']?{name}\b", line)), 1
        )
        raise DataError(f"{path}, line {number}: {error.message}", error.next_step) from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.", "Check that it is UTF-8.") from error


def named(languages: Sequence[str]) -> str:
    """Languages in words: "English and Spanish"; a code whose name is not known stands as it is."""
    names = [LANGUAGE_NAMES.get(code, code) for code in languages]
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
