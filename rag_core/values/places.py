"""Where what comes with the code lies: beside `rag_core` in the repository, inside it once installed from a wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = (_PACKAGE / "_data").is_dir()
DATA = _PACKAGE / "_data" if _INSTALLED else _PACKAGE.parent / "data"
APP = (_PACKAGE / "_app" if _INSTALLED else _PACKAGE.parent) / "app.py"  # beside its pages/ and .streamlit/
