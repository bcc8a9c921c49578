"""The environment: its size, that everything in it is needed, and how long it takes to make: goal 14."""

import ast
import subprocess
import sys
import time
import tomllib
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest
from helpers.small import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PIP = {"pip", "setuptools", "wheel"}  # of the environment itself


def project() -> dict[str, list[Requirement]]:
    """What pyproject.toml asks for: for the product, and for its tests."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {"product": table["dependencies"], "test": table["optional-dependencies"]["test"]}
    return {name: [Requirement(one) for one in listed] for name, listed in asked.items()}


def closure(asked: list[Requirement], installed: dict[str, Distribution]) -> set[str]:
    """The installed distributions that requirements bring, with theirs."""
    found: set[tuple[str, frozenset[str]]] = set()
    left = [(one, "") for one in asked]
    while left:
        requirement, extra = left.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        if name in installed and (name, extras) not in found:
            found.add((name, extras))
            for line in installed[name].requires or ():
                left += [(Requirement(line), one) for one in ("", *extras)]
    return {name for name, _ in found}


def named() -> set[str]:
    """The modules that the product's code imports, or loads by name."""
    found: set[str] = set()
    for file in [ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "rag_core").rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {one.name for one in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def modules_of(one: Distribution) -> set[str]:
    """Its uppermost modules: several distributions have theirs below `llama_index`."""
    files = [str(file).removesuffix("/__init__.py") for file in one.files or () if str(file).endswith(".py")]
    files += [str(file) for file in one.files or () if str(file).endswith(".so")]
    names = {file.partition(".")[0].replace("/", ".") for file in files}
    return {name for name in names if not any(name.startswith(f"{other}.") for other in names)}


def size(one: Distribution) -> int:
    return sum(path.stat().st_size for file in one.files or () if (path := Path(str(file.locate()))).is_file())


def test_nothing_is_installed_that_is_not_needed(results):
    installed = {canonicalize_name(one.metadata["Name"]): one for one in distributions()}
    asked = project()
    product = closure(asked["product"], installed)
    everything = product | closure(asked["test"], installed)
    results.note("distributions of the product", "", [len(product)])
    results.note("distributions of the tests, besides", "", [len(everything - product)])
    results.note("size of the product's distributions", "MB", [sum(size(installed[one]) for one in product) / 1e6])
    largest = sorted(product, key=lambda one: -size(installed[one]))[:5]
    for one in largest:
        results.note(f"size of {one}", "MB", [size(installed[one]) / 1e6])

    modules = named()
    unused = [
        one.name
        for one in asked["product"]
        if (owned := modules_of(installed[canonicalize_name(one.name)]))  # llama-index is others' names alone
        and not any(f"{name}.".startswith(f"{own}.") for own in owned for name in modules)
    ]  # fmt: skip
    foreign = installed.keys() - everything - PIP - {"obstetrics-rag-lab"}
    results.goal(14, "direct dependencies never imported", "", [len(unused)], 0, "")
    results.goal(14, "distributions that nothing asks for", "", [len(foreign)], 0, "")
    assert not unused


@pytest.mark.slow  # installs everything, from the packages' registry or pip's cache
@pytest.mark.timeout(3600)
def test_how_long_the_environment_takes(tmp_path, results):
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    pip = [
        tmp_path / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", "-c", "constraints.txt",
        "-e", ".",
    ]  # fmt: skip
    subprocess.run(pip, cwd=ROOT, check=True)
    results.note("making the environment", "s", [time.perf_counter() - started])
