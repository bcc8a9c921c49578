"""Values kept as JSON come back equal and as shared as they were."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers.looping import for_each
from hypothesis import given
from hypothesis import strategies as st

from rag_core import RECIPES
from rag_core.values.errors import DataError
from rag_core.values.packed import KINDS, pack, unpack
from rag_core.values.trace import Trace
from rag_core.values.types import ModelCall, Passage, Query


def facts(value: Any, seen: dict[int, int]) -> Any:
    """A value as plain data with its types: a model call, equal only to itself, by its place and contents."""
    match value:
        case str():  # a Message is stored as its text
            return ("str", str(value))
        case ModelCall():
            return ("ModelCall", seen.setdefault(id(value), len(seen)), *dataclasses.astuple(value))
        case tuple() | list():
            return (type(value).__name__, *(facts(one, seen) for one in value))
        case Mapping():
            return {key: facts(one, seen) for key, one in value.items()}
        case _ if dataclasses.is_dataclass(value):
            kind = type(value)
            return (
                kind.__name__,
                *(
                    facts(getattr(value, one.name), seen)
                    for one in dataclasses.fields(kind)
                    if one.metadata.get("packed", True)
                ),
            )
    return (type(value).__name__, value)


@for_each("strategy", list(RECIPES))
@for_each("question", ["When is anti-D given?", "¿Cuáles son los riesgos de la cesárea?"])
def test_the_trace_of_every_strategy_comes_back_whole(lab, strategy, question):
    trace = lab.run(question, strategy)
    again = unpack(pack(trace))
    assert isinstance(again, Trace)
    assert facts(again, {}) == facts(trace, {})
    assert again.as_json() == trace.as_json()
    assert len(again.calls) == len(trace.calls)


def test_traces_that_share_calls_share_them_afterwards(lab):
    traces = tuple(lab.compare("When is anti-D given?", ["simple_semantic", ("simple_semantic", {"k_final": 3})]))
    once = len(dict.fromkeys(call for trace in traces for call in trace.calls))
    again = unpack(pack(traces))
    assert once < sum(len(trace.calls) for trace in traces)
    assert len(dict.fromkeys(call for trace in again for call in trace.calls)) == once


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)  # fmt: skip


@given(plain)
def test_plain_values_come_back_with_their_types(value):
    assert facts(unpack(pack(value)), {}) == facts(value, {})


def test_a_mapping_that_looks_like_a_mark_is_a_mapping():
    for value in ({"#": 0}, {"()": [1]}, {"{}": {}}):
        assert unpack(pack(value)) == value


def test_what_is_no_value_of_ours_is_refused():
    with pytest.raises(TypeError, match="PosixPath cannot be packed"):
        pack((Query("cats"), Path("x")))


class TestDamaged:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            '{"objects": [], "value": {"#": 3}}',
            '{"objects": [["Path", {}]], "value": 1}',
            '{"objects": [["Query", {}]], "value": 1}',
            '{"objects": [["Query", {"text": "cats", "colour": "red"}]], "value": {"#": 0}}',
            '{"objects": [], "value": {"what": 1}}',
            "[" * 100_000,
        ],
    )
    def test_what_cannot_be_read_is_one_error_of_ours(self, text):
        with pytest.raises(DataError, match="cannot be read"):
            unpack(text)

    def test_no_other_class_is_ever_made(self):
        assert all(dataclasses.is_dataclass(kind) for kind in KINDS.values())
        assert all(kind.__module__.startswith("rag_core.values.") for kind in KINDS.values())
        assert Passage in KINDS.values()
