"""Options that several commands have, and the parsing of their values; what may be sent of a question."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

import rag_core

from ..documents.documents import BUILTIN
from ..safety.urgency.helplines import Helplines, helplines
from ..values.errors import ConfigError, InputError, SettingsError, why_unreadable

Strategies = Annotated[
    str,
    typer.Option(metavar="A,B,LABEL=C", help="Strategies to use; LABEL=NAME repeats one with other settings."),
]
Sets = Annotated[list[str] | None, typer.Option("--set", metavar="LABEL.CONTROL=VALUE", help="Set a control.")]

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="LABEL=NAME",
        help="Language model of a strategy; 'offline' is the offline engine. NAME alone is for all of them.",
    ),
]
Corpora = Annotated[
    list[str] | None,
    typer.Option(
        "--corpus",
        metavar="[LABEL=]NAME",
        help="Corpus to search, see `rag index`; LABEL=NAME is for one strategy.",
        show_default=BUILTIN,
    ),
]

Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="NAME=VALUE",
        help="Search only documents with this metadata; also NAME!=VALUE.",
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before calls that cost money.")]
Country = Annotated[
    str | None,
    typer.Option(
        metavar="CODE",
        help="Country whose guidance leads and whose emergency numbers are shown, such as GB; '' for none.",
        show_default="RAG_COUNTRY",
    ),
]

Redact = Annotated[bool, typer.Option("--redact", help="Replace private data in the question by its kind.")]
SendPrivate = Annotated[
    bool,
    typer.Option("--send-private", help="Send the question to an external model as typed, private data too."),
]


def country_or_setting(given: str | None) -> tuple[str, Helplines | None]:
    """A country's code, given or set, and its phone numbers; SettingsError if the setting is unknown."""
    code = (rag_core.read_settings().country if given is None else given).strip().upper()
    try:
        return code, helplines(code)
    except SettingsError as error:
        if given is None:
            raise
        raise typer.BadParameter(error.next_step or error.message, param_hint="--country") from error


def a_path(text: str | Path) -> Path:
    """A path as it was typed; an empty one would be the working directory."""
    if not str(text).strip():
        raise typer.BadParameter("the path is empty; write . for the working directory")
    return Path(text)


def read_text(path: Path) -> str:
    """The text of a file that an option names; raises ConfigError if it cannot be read, or is empty."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"{path} cannot be read: {why_unreadable(error)}.", "Check the path.") from error
    if not text.strip():
        raise ConfigError(f"{path} is empty.", "Write the text into it.")
    return text


def parse_columns(
    strategies: str, assignments: Sequence[str], models: Sequence[str], corpora: Sequence[str]
) -> dict[str, tuple[str, Mapping[str, object]]]:
    """Label -> (strategy, values), as `set_up` takes them; raises ConfigError for no strategy, or a wrong label."""
    chosen = parse_strategies(strategies, assignments)
    if not chosen:
        raise ConfigError("No strategy was chosen.", f"Strategies: {', '.join(rag_core.RECIPES)}.")
    for what, given in (("model", models), ("corpus", corpora)):
        for label, value in _by_label(given, list(chosen), f"--{what}").items():
            name, values = chosen[label]
            chosen[label] = name, {**values, what: value}
    return chosen


def parse_strategies(text: str, assignments: Sequence[str]) -> dict[str, tuple[str, Mapping[str, object]]]:
    """Label -> (strategy, control values); raises ConfigError for a label that is unknown or used twice."""
    chosen: dict[str, tuple[str, dict[str, object]]] = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        label, equals, name = (piece.strip() for piece in part.partition("="))
        if not label:
            raise ConfigError(f"{part!r} has no label.", "Write LABEL=STRATEGY, or just the strategy.")
        if label in chosen:
            raise ConfigError(
                f"The label {label!r} is used twice.", "Write LABEL=STRATEGY to give each one its own label."
            )
        chosen[label] = (name if equals else label, {})
    for pair in assignments:
        key, equals, value = pair.partition("=")
        label, dot, control = key.strip().rpartition(".")
        if not equals or not dot or label not in chosen:
            raise ConfigError(
                f"--set {pair} does not match any chosen strategy.",
                f"Write LABEL.CONTROL=VALUE; the labels are {', '.join(chosen)}.",
            )
        chosen[label][1][control] = value.strip()
    return dict(chosen)


def _by_label(given: Sequence[str], labels: Sequence[str], option: str) -> dict[str, str]:
    """Label -> value, from LABEL=VALUE, or VALUE for the rest; ConfigError if a label is wrong."""
    own: dict[str, str] = {}
    for text in given:
        label, equals, value = text.partition("=")
        label, value = (label.strip(), value.strip()) if equals else ("", label.strip())
        if not value or (equals and label not in labels) or label in own:
            raise ConfigError(
                f"{option} {text} does not match any chosen strategy, or repeats one.",
                f"Write LABEL=NAME, or NAME for all; the labels are {', '.join(labels)}.",
            )
        own[label] = value
    common = own.pop("", None)
    return {**({} if common is None else dict.fromkeys(labels, common)), **own}


def assignments(pairs: Sequence[str], option: str = "--set", form: str = "NAME=VALUE") -> dict[str, str]:
    """Name -> value, from texts NAME=VALUE."""
    values = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{option} {pair} is not {form}.")
        values[name.strip()] = value.strip()
    return values


def parse_pair(written: str, labels: Sequence[str]) -> tuple[str, str]:
    """The two labels of A:B; raises ConfigError if they are not two of `labels`."""
    a, colon, b = written.partition(":")
    if not colon or a == b or not {a, b} <= set(labels):
        raise ConfigError(
            f"--pair {written} does not name two measured strategies.",
            f"Write A:B; the labels are {', '.join(labels)}.",
        )
    return a, b


def parse_run_files(pairs: list[str]) -> dict[str, Path]:
    """Label -> run file, from texts LABEL=FILE."""
    return {label: Path(path) for label, path in assignments(pairs, "--run-file", "LABEL=FILE").items()}


def cleared(question: str, *, redacting: bool, sending: bool, country: str | None = None) -> str:
    """The question as it may be sent to the models of the settings; raises InputError if private data needs a decision.

    Typed and saved questions are checked. Those of a benchmark are not: they come from a prepared file and are sent by
    the hundred once the cost is confirmed; asking about each would only teach people to add --send-private. The message
    names kinds only. `country` is that of telephone numbers; RAG_COUNTRY by default.
    """
    from ..language.questions import check_question
    from ..safety.privacy import find_private, kinds_in_words, redact

    if redacting and sending:
        raise typer.BadParameter("give --redact or --send-private, not both")
    settings = rag_core.read_settings()
    country = settings.country if country is None else country
    asked = check_question(question)
    if redacting:
        return redact(asked, country)
    if sending or settings.private == "send" or not settings.outside:
        return asked
    if settings.private == "redact":
        return redact(asked, country)
    found = find_private(asked, country)
    if found:
        raise InputError(
            f"The question has {kinds_in_words(found)}, and would be sent to {', '.join(settings.outside)}; nothing was sent.",
            "Add --redact to replace private data, or --send-private to send the question as typed.",
        )
    return asked
