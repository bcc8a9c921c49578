"""What pyproject.toml, docs/deploy.md and deploy/ say of the app is so, as far as a machine without containers can tell."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from typing import Any

import pytest
import yaml
from helpers.small import ROOT
from streamlit import config

from rag_core.indexing.uploads import MAX_UPLOAD
from rag_core.values.settings import Settings

GUIDE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
IMAGE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
LOCK = (ROOT / "deploy" / "requirements.txt").read_text(encoding="utf-8")
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8")
NGINX = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))["services"]


def test_every_variable_is_one_that_the_app_or_streamlit_reads():
    named = {
        *re.findall(r"\b((?:RAG|OPENAI|STREAMLIT)_[A-Z_]+)\b", GUIDE + IMAGE),
        *SERVICES["lab-1"]["environment"],
    }
    ours = {f"RAG_{name}".upper() for name in Settings.model_fields} | {"OPENAI_API_KEY"}
    options = (re.sub(r"(?=[A-Z])|\.", "_", key) for key in config.get_config_options())
    streamlits = {f"STREAMLIT_{option}".upper() for option in options}
    assert named - ours - streamlits == set()


def test_the_image_has_what_it_copies_and_all_that_the_app_needs():
    copied = [name for line in re.findall(r"^COPY (.+) \S+$", IMAGE, re.MULTILINE) for name in line.split()]
    assert all((ROOT / name).exists() for name in copied)
    assert {"app.py", "pages", "rag_core", "data", ".streamlit", "pyproject.toml"} < {*copied}


def test_the_image_installs_the_tested_versions_each_by_its_hash():
    listed = re.findall(r"^([\w.-]+)(?:\[\w+\])?==(\S+) (?:; .+ )?\\\n +--hash=sha256:", LOCK, re.MULTILINE)
    tested = dict(re.findall(r"^([\w.-]+)==(\S+)$", CONSTRAINTS, re.MULTILINE))
    versions = {_name(name): version for name, version in tested.items()}
    ours = {_name(name): version for name, version in listed if name != "setuptools"}  # builds, and is torch's
    assert ours.items() <= versions.items()
    assert len(listed) == len(re.findall("^[^ #]", LOCK, re.MULTILINE))
    assert f" torch=={versions['torch']} " in IMAGE


@pytest.mark.parametrize("name", ["lab-1", "lab-2"])
def test_the_proxy_knows_each_app_and_allows_what_the_app_does(name):
    assert f"server {name}:8501;" in NGINX
    base = SERVICES[name]["environment"]["STREAMLIT_SERVER_BASE_URL_PATH"]
    assert f"location {base} {{" in NGINX
    size = re.search(r"client_max_body_size (\d+)m", NGINX)
    assert size
    assert int(size[1]) == config.get_option("server.maxUploadSize") >= MAX_UPLOAD / 1e6
    assert "$request_uri" not in NGINX
    assert "$args" not in NGINX


@pytest.mark.parametrize(
    "path", sorted({*re.findall(r"\]\(\.\./([\w./]+)\)", GUIDE), *re.findall(r"-f (deploy/\S+)", GUIDE)})
)
def test_the_files_it_names_are_there(path):
    assert (ROOT / path).is_file()


def test_every_package_that_the_lab_needs_has_its_licence_listed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["postgres"], *extras["signin"]]
    listed = re.findall(r"`([\w.-]+)`", (ROOT / "docs" / "licences.md").read_text(encoding="utf-8"))
    assert {*map(_name, needed)} - {*map(_name, listed)} == set()


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
        name: imported[name] for name in foreign if declared.isdisjoint(map(_name, distributions.get(name, ())))
    }
    assert undeclared == {}
