"""py3langid's language detector, with its model unpacked once in the state folder and mapped to memory from there.

Unpacking takes half a second and 70 MB in every process; a question needs a few hundred pages of it.
"""

import copy
import functools
import hashlib
import shutil
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..values.owner_only import private_folder, private_home, tighten

# of a model, as py3langid orders them
PARTS = ("weights", "priors", "languages", "moves", "rows", "features")

_lock = threading.Lock()
_home: Path | None = None


def unpack_in(home: Path) -> None:
    """Map the model from a state folder, where the first process unpacks it. To be called before any detection."""
    global _home
    _home = home


@functools.cache
def detector(languages: tuple[str, ...]) -> Any:
    """A detector for these languages, or for all it knows; probabilities sum to 1."""
    if languages:
        one = copy.copy(detector(()))  # shares the model; the languages are its own
        one.set_languages([code for code in languages if code in one.nb_classes])
        return one
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

    with _lock:
        weights, priors, classes, moves, rows, features = _model(MODEL_DIR / MODEL_FILE)
    return LanguageIdentifier(weights, priors, classes, moves, features, norm_probs=True, tk_row=rows)


def _model(packed: Path) -> Sequence[Any]:
    """The parts of the model: mapped where that is possible, otherwise loaded."""
    from py3langid.modelio import load_model

    if _home is None:
        return load_model(packed)  # type: ignore[no-any-return]
    with packed.open("rb") as file:
        unpacked = _home / "languages" / hashlib.file_digest(file, "sha256").hexdigest()[:16]
    try:
        if not unpacked.is_dir():
            private_home(_home)
            _unpack(load_model(packed), unpacked)
        return _mapped(unpacked)
    except (OSError, EOFError, ValueError):  # a full or read-only disk, a damaged file
        return load_model(packed)  # type: ignore[no-any-return]


def _unpack(parts: Sequence[Any], folder: Path) -> None:
    import numpy as np

    private_folder(folder.parent)
    for old in folder.parent.iterdir():  # of another version, or half written
        shutil.rmtree(old, ignore_errors=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        for name, part in zip(PARTS, parts, strict=True):
            # A language's weights together: two languages are then two short stretches of the file.
            np.save(draft / f"{name}.npy", np.asfortranarray(part))
        tighten(draft)
        with suppress(FileExistsError):  # another process was faster
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _mapped(folder: Path) -> Sequence[Any]:
    import numpy as np

    weights, priors, classes, moves, rows, features = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in PARTS)
    # A memory view gives numbers of Python, which the detector's loop over bytes needs, without a copy.
    return weights, priors, classes.tolist(), memoryview(moves), rows.tolist(), memoryview(features)
