"""py3langid's detector; its model is unpacked once and mapped, which saves each process half a second and 70 MB."""

import copy
import functools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .unpacked import unpacked

# of a model, as py3langid orders them
PARTS = ("weights", "priors", "languages", "moves", "rows", "features")

_lock = threading.Lock()


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
    import numpy as np
    from py3langid.modelio import load_model

    def unpack(folder: Path) -> None:
        for name, part in zip(PARTS, load_model(packed), strict=True):
            # A language's weights together: two languages are then two short stretches of the file.
            np.save(folder / f"{name}.npy", np.asfortranarray(part))

    try:
        folder = unpacked("detector", packed, unpack)
        weights, priors, classes, moves, rows, features = (
            np.load(folder / f"{one}.npy", mmap_mode="r") for one in PARTS
        )
    except (OSError, EOFError, ValueError):  # a full or read-only disk, a damaged file
        return load_model(packed)  # type: ignore[no-any-return]
    # A memory view gives numbers of Python, which the detector's loop over bytes needs, without a copy.
    return weights, priors, classes.tolist(), memoryview(moves), rows.tolist(), memoryview(features)
