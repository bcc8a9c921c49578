"""Presets of strategies: those that a recipe declares, and settings that people saved, as in "hybrid_rrf@mine".

The saved ones stand in one file of the state folder, which people may read and edit:

    {"version": 1, "presets": {"hybrid_rrf": {"mine": {"mmr_lambda": 0.3}}}}

Values that are the defaults are left out. Of two programs that save at the same moment, the later one's file stays.
"""

import json
import re
import threading
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..values.errors import ConfigError, DataError, why_unreadable
from ..values.message import Message
from ..values.owner_only import write_atomically
from ..values.settings import read_settings
from ..values.visible import as_json
from .recipe import Preset, Recipe, Values

FILE = "presets.json"
VERSION = 1
MOST_LETTERS = 40  # characters of a name
MOST = 100  # saved presets of a strategy, so that visitors of an app cannot fill the disk
_NAME = re.compile(r"\w[\w ]*")  # the command line gives `@`, `=`, `.` and `,` a meaning
_writing = threading.Lock()

# strategy -> name of a preset -> control values as JSON, which the recipe checks
Kept = dict[str, dict[str, dict[str, Any]]]
_KEPT = TypeAdapter(Kept)


def spelled(name: str) -> str:
    """A preset's name as it is kept: "_" and "-" count as spaces."""
    return " ".join(re.sub("[_-]", " ", name).split())


def presets_of(recipe: Recipe) -> tuple[Preset, ...]:
    """A strategy's declared presets, then the saved ones; raises RagError if those cannot be read."""
    return *recipe.presets, *saved_presets().of(recipe)


def preset_of(recipe: Recipe, name: str) -> Preset:
    """A preset by name; reads the saved ones only if undeclared. Raises RagError if there is none or they are unreadable."""
    wanted = spelled(name)
    found = {one.name: one for one in recipe.presets}
    if wanted not in found:
        found = {one.name: one for one in presets_of(recipe)}
    if wanted not in found:
        raise ConfigError(
            Message("{name} has no preset {wanted!r}.", name=recipe.name, wanted=name),
            Message("Its presets: {known}.", known=", ".join(found) or "it has none"),
        )
    return found[wanted]


class SavedPresets:
    """The presets that people saved in a state folder. A file that cannot be read is left as it is."""

    def __init__(self, home: Path) -> None:
        self._path = home / FILE

    def of(self, recipe: Recipe) -> tuple[Preset, ...]:
        """Those of a strategy, as saved, in order; the help of one that no longer builds says why.

        Raises DataError if the file is damaged, too new, or has a name that came with the strategy since.
        """
        own = self._read().get(recipe.name, {})
        if taken := [preset.name for preset in recipe.presets if preset.name in own]:
            raise self._unreadable(Message("{name!r} comes with {strategy} now", name=taken[0], strategy=recipe.name))
        return tuple(Preset(name, values, _help(recipe, values)) for name, values in own.items())

    def save(self, recipe: Recipe, name: str, values: Values, *, replace: bool = False) -> str:
        """Save control values; returns the name as it is kept.

        Raises ConfigError if the name cannot be used or is taken and not to be replaced, or the values are wrong;
        DataError or StorageError, here and below, if the file cannot be read or written.
        """
        controls, defaults = recipe.build(**values).controls, recipe.build().controls
        changed = {one: value for one, value in controls.items() if value != defaults[one]}
        with _writing:
            kept = self._read()
            own = kept.get(recipe.name, {})
            name = _usable(recipe, name, own.keys() - {spelled(name)} if replace else own.keys())
            self._write({**kept, recipe.name: {**own, name: changed}})
        return name

    def rename(self, recipe: Recipe, name: str, new: str) -> str:
        """Rename a preset; returns the name as kept, or raises ConfigError if there is none or the new one is wrong."""
        with _writing:
            kept, own = self._own(recipe, name)
            new = _usable(recipe, new, own.keys() - {name})
            renamed = {new if one == name else one: values for one, values in own.items()}
            self._write({**kept, recipe.name: renamed})
        return new

    def delete(self, recipe: Recipe, name: str) -> None:
        """Delete a preset; raises ConfigError if there is none of that name."""
        with _writing:
            kept, own = self._own(recipe, name)
            self._write({**kept, recipe.name: {one: values for one, values in own.items() if one != name}})

    def _own(self, recipe: Recipe, name: str) -> tuple[Kept, dict[str, dict[str, Any]]]:
        """Everything that is kept, and what is of the strategy, with this preset."""
        kept = self._read()
        own = kept.get(recipe.name, {})
        if name not in own:
            raise ConfigError(
                Message("{name} has no preset {wanted!r}.", name=recipe.name, wanted=name),
                Message("It was renamed or deleted in the meantime."),
            )
        return kept, own

    def _read(self) -> Kept:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8-sig"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:  # UnicodeError is a ValueError
            raise self._unreadable(why_unreadable(error)) from error
        match found:
            case {"version": int(version)} if version > VERSION:
                raise self._unreadable(Message("a newer version wrote it"))
            case {"version": version, "presets": presets} if version == VERSION:
                with suppress(ValidationError):
                    return _KEPT.validate_python(presets)
        raise self._unreadable(Message("it does not have the form of saved presets"))

    def _unreadable(self, reason: str) -> DataError:
        return DataError(
            Message("The saved presets in {file} cannot be read: {reason}.", file=self._path, reason=reason),
            Message("Mend the file or move it away; nothing in it was changed."),
        )

    def _write(self, kept: Kept) -> None:
        presets = {strategy: own for strategy, own in kept.items() if own}
        write_atomically(self._path, f"{as_json({'version': VERSION, 'presets': presets})}\n")


def saved_presets() -> SavedPresets:
    """Those of the state folder of the current settings."""
    return SavedPresets(read_settings().home)


def _usable(recipe: Recipe, name: str, taken: Collection[str]) -> str:
    """A new preset's name as it is kept."""
    name = spelled(name)
    if len(name) > MOST_LETTERS or not _NAME.fullmatch(name):
        raise ConfigError(
            Message("A preset cannot be called {name!r}.", name=name[:MOST_LETTERS]),
            Message("Use letters, digits and spaces, {most} at most.", most=MOST_LETTERS),
        )
    if name in {*taken, *(preset.name for preset in recipe.presets)}:
        raise ConfigError(
            Message("{strategy} has a preset {name!r} already.", name=name, strategy=recipe.name),
            Message("Choose another name."),
        )
    if len(taken) >= MOST:
        raise ConfigError(
            Message("{strategy} has {most} saved presets already.", strategy=recipe.name, most=MOST),
            Message("Delete one that is not needed."),
        )
    return name


def _help(recipe: Recipe, values: Values) -> str:
    """What a saved preset changes, or why it cannot be used."""
    try:
        changes = recipe.changes(recipe.build(**values).controls)
    except ConfigError as error:
        return error.sentence
    return Message.joined(changes or (Message("the defaults"),))
