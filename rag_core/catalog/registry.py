"""The registry of strategies: the built-in ones, those of installed packages, and those registered by a program.

A package registers strategies through an entry point of the group `rag_core.strategies`, in its pyproject.toml:

    [project.entry-points."rag_core.strategies"]
    ward = "ward_rag:STRATEGY"

The object is a `Recipe`, several of them, or a function without arguments that returns either.
"""

import json
import re
import threading
import warnings
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass, fields
from importlib.metadata import entry_points

from ..values.errors import ConfigError, RagError
from ..values.model_choice import ModelChoice
from .recipe import Recipe

GROUP = "rag_core.strategies"
BUILT_IN = "rag_core"
CORPUS, WHERE = "corpus", "where"
# what a column names beside its controls; see `setup`
RUNS_ON = (*(one.name for one in fields(ModelChoice)), CORPUS, WHERE)
_NAME = re.compile(r"[a-z][a-z0-9_]*")  # the command line gives `@`, `=`, `.` and `,` a meaning


@dataclass(frozen=True, slots=True)
class FailedPlugin:
    """An entry point that could not register its strategies, and why."""

    package: str
    entry: str
    reason: str

    def __str__(self) -> str:
        return f"Package {self.package} could not register {self.entry!r}: {self.reason}"


class Registry(Mapping[str, Recipe]):
    """Strategies by name; a read-only mapping that loads entry points on first use, not at import.

    The built-in strategies come first, then those of installed packages in the order of the packages' names,
    then those registered by `register`. Safe to use from several threads.
    """

    def __init__(self, built_in: Iterable[Recipe]) -> None:
        self._lock = threading.RLock()
        # Both are replaced, never changed, so that readers need no lock.
        self._recipes = {recipe.name: recipe for recipe in built_in}
        self._packages = dict.fromkeys(self._recipes, BUILT_IN)
        self._failed: tuple[FailedPlugin, ...] = ()
        self._loaded = self._loading = False

    def __getitem__(self, name: str) -> Recipe:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def values(self) -> ValuesView[Recipe]:
        """The recipes; a snapshot like `items`, so that another thread may unregister one meanwhile."""
        return self._all().values()

    def items(self) -> ItemsView[str, Recipe]:
        return self._all().items()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._all())})"

    @property
    def packages(self) -> dict[str, tuple[str, ...]]:
        """Package -> names of the strategies it registered; the built-in ones are left out."""
        self._all()
        found: dict[str, tuple[str, ...]] = {}
        for name, package in self._packages.items():
            if package != BUILT_IN:
                found[package] = (*found.get(package, ()), name)
        return found

    @property
    def failed(self) -> tuple[FailedPlugin, ...]:
        self._all()
        return self._failed

    def register(self, recipe: Recipe, *, replace: bool = False) -> None:
        """Add a strategy in this process; it then appears wherever the built-in ones do.

        Args:
            replace: replace an earlier one with the same name, for example when a notebook cell runs twice. A
                built-in strategy cannot be replaced.

        Raises ConfigError if the name is taken or malformed, or the recipe does not build with its defaults.
        """
        with self._lock:
            self._all()
            # whose code builds its stages
            module = getattr(getattr(recipe, "stages", None), "__module__", None) or "__main__"
            self._add(recipe, module.partition(".")[0], replace=replace)

    def unregister(self, name: str) -> None:
        """Remove a strategy; raises ConfigError if there is no such strategy, or it is built in."""
        with self._lock:
            if self._all().get(name) is None:
                raise ConfigError(f"There is no strategy {name!r}.", f"Strategies: {', '.join(self)}.")
            if self._packages[name] == BUILT_IN:
                raise ConfigError(f"Strategy {name!r} is built in and cannot be unregistered.")
            self._recipes = {key: one for key, one in self._recipes.items() if key != name}
            self._packages = {key: one for key, one in self._packages.items() if key != name}

    def _all(self) -> dict[str, Recipe]:
        if not self._loaded:
            with self._lock:
                if not (self._loaded or self._loading):  # a plug-in may read the registry while it loads
                    self._loading = True
                    self._load()
                    self._loaded = True
                    for failure in self._failed:
                        warnings.warn(str(failure), RuntimeWarning, stacklevel=3)
        return self._recipes

    def _load(self) -> None:
        found = [
            (f"{one.dist.name} {one.dist.version}" if one.dist else one.module.partition(".")[0], one)
            for one in entry_points(group=GROUP)
        ]
        for package, entry in sorted(found, key=lambda pair: (pair[0], pair[1].name)):
            try:
                loaded = entry.load()
                loaded = loaded() if callable(loaded) else loaded
                for recipe in [loaded] if isinstance(loaded, Recipe) else list(loaded):
                    self._add(recipe, package)
            except (Exception, SystemExit) as error:  # a broken plug-in must not stop the lab
                reason = str(error) if isinstance(error, RagError) else f"{type(error).__name__}: {error}"
                failure = FailedPlugin(package, f"{entry.name} = {entry.value}", " ".join(reason.split()))
                self._failed = (*self._failed, failure)

    def _add(self, recipe: Recipe, package: str, *, replace: bool = False) -> None:
        _check(recipe)
        taken = self._packages.get(recipe.name)
        if taken is not None and (taken == BUILT_IN or not replace):
            raise ConfigError(
                f"Package {package} cannot register strategy {recipe.name!r}: package {taken} already has one.",
                "Give it another name" + ("." if taken == BUILT_IN else ", or register it with replace=True."),
            )
        self._recipes = {**self._recipes, recipe.name: recipe}
        self._packages = {**self._packages, recipe.name: package}


def _check(recipe: object) -> None:
    """Check that every screen and command can show a recipe; raises ConfigError if one of them cannot."""
    if not isinstance(recipe, Recipe):
        raise ConfigError(f"A strategy is registered as a Recipe, not as {type(recipe).__name__}.")
    if not _NAME.fullmatch(recipe.name):
        raise ConfigError(
            f"A strategy cannot be called {recipe.name!r}.",
            "Use lower-case letters, digits and underscores, a letter first.",
        )
    if taken := [control.name for control in recipe.controls if control.name in RUNS_ON]:
        raise ConfigError(
            f"Strategy {recipe.name!r} cannot have a control {taken[0]!r}.",
            f"These names say what a strategy runs on: {', '.join(RUNS_ON)}.",
        )
    try:
        json.dumps(recipe.as_json())
    except RagError:
        raise
    except Exception as error:
        raise ConfigError(
            f"Strategy {recipe.name!r} does not build with its defaults: {type(error).__name__}: {error}.",
            "Try it with rag_core.testing.check_strategy.",
        ) from error
