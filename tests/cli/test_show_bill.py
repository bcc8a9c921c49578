"""`--show-details` prints the bill: what was made here, what was reused, and the prices with their dates."""

from dataclasses import replace

from rag_core.catalog import build
from rag_core.cli.show import show_bill
from rag_core.values.types import ModelCall


def test_a_line_a_stage_their_total_and_the_price(full, capsys):
    trace = build("hybrid_rrf").run("Do cats sleep?", full)
    paid = ModelCall("answer", "gpt-4o", 1_000, 200, 0.0045, "provider")
    first, *between, last = trace.steps
    show_bill(
        replace(
            trace, steps=(replace(first, reused=True), *between, replace(last, seconds=0.25, calls=(paid,)))
        )
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["Bm25", "∥", "Dense", "reused"]
    assert lines[0].endswith("  1 call reused, $0")
    assert [line.split()[0] for line in lines[1:3]] == ["bm25", "dense"]  # each search with its own time
    shown = " ".join(" ".join(lines).split())  # lines wrap
    assert "Generate 250.0 ms passages: 5 1 call, 1,000 → 200 tokens measured, $0.004500" in shown
    assert "ms 1 call, 1,000 → 200 tokens measured, $0.004500 reused calls cost nothing here" in shown
    assert "  reused calls cost nothing here; with nothing to reuse: $0.0045" in "\n".join(lines)
    assert lines[-1] == "  gpt-4o: $2.50 in, $10.00 out per million tokens, on 2025-06-01"
