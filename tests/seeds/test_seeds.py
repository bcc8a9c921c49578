import functools
import importlib
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from helpers.looping import for_each

TESTS = Path(__file__).resolve().parents[1]
TABLE = tomllib.loads(Path(__file__).with_name("table.toml").read_text(encoding="utf-8"))
ROWS = [(f"{seed}.{row['id']}", row) for seed, rows in TABLE.items() for row in rows]
SEEDS = {"000": 26, "001": 44, "002": 36, "003": 34, "004": 44}  # statements; a row less is a statement lost


@pytest.fixture(scope="session")
def collected(request: pytest.FixtureRequest) -> frozenset[str]:
    """The node ids below tests/ that pytest collects in the files the table names, without parameters.

    They are this session's where it has them; the files of the others are collected in a process of their own.
    """
    here = names_of(item.nodeid for item in request.session.items)
    files = sorted({row["test"].partition("::")[0] for _, row in ROWS if row["test"] not in here})
    return here | collected_in(files) if files else here


def names_of(nodes: Iterable[str]) -> frozenset[str]:
    return frozenset(node.removeprefix("tests/").partition("[")[0] for node in nodes)


def collected_in(files: Sequence[str]) -> frozenset[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    said = subprocess.run(
        [*command, *(f"tests/{file}" for file in files)],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    nodes = [line for line in said.stdout.splitlines() if line.startswith("tests/")]
    assert nodes, said.stdout + said.stderr
    return names_of(nodes)


@functools.cache
def resolved(code: str) -> object:
    """The object a "module:name" names."""
    module, _, name = code.partition(":")
    return getattr(importlib.import_module(module), name)


@for_each("row", [row for _, row in ROWS], ids=[name for name, _ in ROWS])
def test_a_statement_is_in_the_code_and_shown_by_a_test(row, collected):
    assert set(row) - {"differs"} == {"id", "says", "code", "test"}
    assert all(value.strip() == value != "" for value in row.values())
    assert resolved(row["code"]) is not None
    assert row["test"] in collected


def test_no_statement_was_lost_and_none_stands_twice():
    assert {seed: len(rows) for seed, rows in TABLE.items()} == SEEDS
    assert len({name for name, _ in ROWS}) == len(ROWS)


def test_the_claims_shown_are_the_seeds():
    """Their figures; the app shows them as claims, beside what is measured here."""
    claims = importlib.import_module("pages.shared.claims")
    assert claims.COMPARED == ("simple_semantic", "hyde", "multi_query")
    figures = {row: claims.CLAIMED[row] for row in ("Language model calls", "Retrieval passes", "Final passages")}
    assert list(figures.values()) == [["1", "2", "4"], ["1", "1", "3"], ["5", "5", "8"]]
    assert list(claims.SPENT.values()) == [
        ["2–3 s", "$0.0003–0.0006"],
        ["1–2 s", "$0.00003"],
        ["1–2 s", "$0.003–0.006"],
        ["5–8 s", "$0.004–0.008"],
    ]
    assert {name: score for name, (_, score) in claims.ABLATION.items()} == {
        "msr_raw": 0.868,
        "msr_reformulation": 0.849,
        "msr_reranking": 0.763,
        "msr_origin": 0.918,
    }
    assert list(claims.ERROR_RATES.values()) == [0.2, 0.3, 0.5, 0.0, 0.0, 0.0]
