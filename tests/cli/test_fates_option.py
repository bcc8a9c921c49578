"""`rag query --fates`: a table for people, and a key of its own in the JSON."""

from rag_core.explain import fates

ASKED = ("query", "When is anti-D given?", "--strategy", "hybrid_rrf")


def test_every_passage_has_a_line_with_its_fate(ready, rag, lab):
    found = fates(lab.run(ASKED[1], ASKED[3]))
    lines = rag(*ASKED, "--fates").out.splitlines()
    (start,) = [place for place, line in enumerate(lines) if line.startswith("  Found ")]
    used = sum(fate.used for fate in found)
    assert lines[start].startswith(f"  Found {len(found)} passages: {used} used, ")
    assert lines[start + 1] == "  Limits, as `--set` takes them: k_rrf_pool=10."
    table = [line for line in lines[start + 2 :] if line.strip()]
    assert len(table) == len(found)
    for line, fate in zip(table, found, strict=True):
        assert line.startswith(f"  {fate.text}  ")
        assert line.rstrip().endswith(fate.passage.full_title[-10:])


def test_a_long_table_is_cut_and_says_so(ready, rag):
    ran = rag("query", ASKED[1], "--strategy", "contextual", "--set", "k_candidates=100", "--fates")
    *_, last = [line for line in ran.out.splitlines() if line.strip()]
    assert last.startswith("  and ")
    assert last.endswith(" more; `--json` lists all.")


def test_the_json_has_them_only_when_asked(ready, rag, lab):
    assert "fates" not in rag(*ASKED, "--json").json
    shown = rag(*ASKED, "--fates", "--json").json["fates"]
    found = fates(lab.run(ASKED[1], ASKED[3]))
    assert [one["text"] for one in shown["passages"]] == [fate.text for fate in found]
    assert [one["retriever"] for one in shown["lists"]] == ["bm25", "dense", "", "", "", ""]
    assert {place["list"] for one in shown["passages"] for place in one["places"]} <= set(range(6))
