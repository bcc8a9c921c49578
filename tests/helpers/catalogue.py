"""Every message that the interface can show, from its code and from what rag_core declares."""

import ast
import tomllib
from collections.abc import Iterator
from typing import Any

from jinja2 import Environment, nodes
from upkeep.documents import TOPICS

import rag_core
from rag_core import evaluation as ev
from rag_core.catalog import Choice
from rag_core.documents.benchmark import JUDGED_BY_AUTHORS
from rag_core.explain.flow import outline
from rag_core.values.labels import LABELS
from rag_core.values.profile import read_profile
from rag_core.values.prompt_injection import GIVES_ORDERS

from .small import ROOT

# What takes a literal message -> the place of the message among its arguments
PLURALS = {"plural": 0, "translate_plural": 1}
MARKERS = {"t": 0, "tagged": 0, "declared": 0, "Message": 0, "warn": 0, "_wrong": 1, "translate": 1, **PLURALS}


def messages() -> dict[str, str]:
    """Every message, a plural by its singular -> where it stands."""
    return {**dict(_declared()), **dict(_in_code()), **dict(_in_templates())}


def _in_templates() -> Iterator[tuple[str, str]]:
    """The literal messages of the templates that HTML is made from."""
    for call, where in _template_calls("say", "say_plural", "t", "tagged", "plural"):
        yield call.args[0].as_const(), where


def _template_calls(*names: str) -> Iterator[tuple[nodes.Call, str]]:
    for file in sorted(file for part in ("rag_core", "pages") for file in (ROOT / part).rglob("templates/*.html")):
        for call in Environment().parse(file.read_text(encoding="utf-8")).find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name in names:
                yield call, f"{file.relative_to(ROOT)}:{call.lineno}"


def _in_code() -> Iterator[tuple[str, str]]:
    """The literal messages of every call that takes one; read as syntax, since Babel's extractor skips f-strings."""
    for node, where in _calls():
        place = MARKERS.get(_name(node.func), len(node.args))
        if place < len(node.args) and isinstance(message := node.args[place], ast.Constant):
            yield message.value, where


def plurals() -> dict[str, str]:
    """The singular of every message with a plural -> its plural."""
    found = {}
    for node, _ in _calls():
        place = PLURALS.get(_name(node.func))
        if place is not None and isinstance(one := node.args[place], ast.Constant):
            found[one.value] = node.args[place + 1].value
    for call, _ in _template_calls("say_plural", "plural"):
        found[call.args[0].as_const()] = call.args[1].as_const()
    return found


def _calls() -> Iterator[tuple[ast.Call, str]]:
    """Every call in the app and its library, and where it stands."""
    for file in [
        ROOT / "app.py",
        *sorted((ROOT / "pages").rglob("*.py")),
        *sorted((ROOT / "rag_core").rglob("*.py")),
    ]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield node, f"{file.relative_to(ROOT)}:{node.lineno}"


def _name(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def _declared() -> Iterator[tuple[str, str]]:
    """Texts that rag_core declares as values: strategies, controls, stages, labels, metrics, notices."""
    for recipe in rag_core.RECIPES.values():
        texts = [recipe.title, recipe.summary, recipe.helps, recipe.hurts, recipe.source, *recipe.calls]
        texts += [preset.help for preset in recipe.presets]
        for control in recipe.controls:
            texts += [control.title, control.help, control.limit, control.as_json()["unit"]]
            texts += control.choices if isinstance(control, Choice) else ()
        for values in ({}, *(preset.values for preset in recipe.presets)):
            outlined = outline(recipe.build(**values))
            texts += [part.summary for stage in outlined for part in stage.parts]
        for text in filter(None, texts):
            yield text, f"strategy {recipe.name}"
    for file in ("pages/drawing/words.toml", "rag_core/explain/words.toml"):
        for section in _read(file).values():
            for text in _texts(section):
                yield text, file
    published = _read("pages/shared/claims.toml")
    for text in (
        *published["comparison"],
        *_texts(published["comparison"]),
        *published["spent"],
        *published["reranked"],
    ):
        if not text.isdecimal():
            yield text, "claims"
    yield read_profile(ROOT / "data" / "corpus").subject, "profile"
    for label in LABELS:
        yield label, "label"
    for metric in ev.DEFAULT_METRICS:
        title = ev.parse_metric(metric).title
        yield str(title.fields.get("measure", title.template)), "metric"
    for topic in TOPICS:
        yield topic, "topic"
    yield JUDGED_BY_AUTHORS, "judgements"
    yield _read("data/questions/judgements.toml")["judged_by"], "judgements"
    yield rag_core.NOTICE, "notice"
    yield GIVES_ORDERS, "notice"


def _read(file: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / file).read_text(encoding="utf-8"))


def _texts(given: Any) -> Iterator[str]:
    """Every text in tables and lists of a TOML file, without the keys."""
    if isinstance(given, str):
        yield given
    else:
        for one in given.values() if isinstance(given, dict) else given:
            yield from _texts(one)
