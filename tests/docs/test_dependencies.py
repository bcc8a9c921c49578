"""What the code imports is what pyproject.toml declares: another package's dependency may go with its next version."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions

from helpers.small import ROOT

OPTIONAL = {"milvus", "postgres"}  # extras, imported where their setting asks for them


def _name(requirement: str) -> str:
    """A distribution's name as PEP 503 compares it, without extras and version."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[=<>~! ;]", requirement)[0]).lower()


def test_every_import_of_the_product_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [one for extra in OPTIONAL for one in project["optional-dependencies"][extra]]
    declared = {_name(one) for one in (*project["dependencies"], *extras)}
    distributions = packages_distributions()
    imported: dict[str, str] = {}  # top-level module -> a file that imports it
    for file in (ROOT / "app.py", *(ROOT / "rag_core").rglob("*.py"), *(ROOT / "pages").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0]: file.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported[node.module.partition(".")[0]] = file.name
    foreign = imported.keys() - sys.stdlib_module_names - {"rag_core", "pages"}
    assert {"streamlit", "yaml"} <= foreign
    undeclared = {
        name: imported[name]
        for name in foreign
        if declared.isdisjoint(map(_name, distributions.get(name, ())))
    }
    assert undeclared == {}
