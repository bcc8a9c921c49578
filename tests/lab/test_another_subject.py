"""A corpus about bicycles meets no word of pregnancy, from indexing to the report."""

import re
from datetime import UTC, datetime

import pytest

import rag_core
from rag_core.catalog import RECIPES
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.sessions.html_report import report
from rag_core.sessions.saved import parse_session, session_json
from rag_core.values.packed import pack
from rag_core.values.settings import Settings
from rag_core.values.trace import Trace
from rag_core.values.visible import as_json

# What these say of bicycles, maternity care says of birth: waters, delivery, labour, tears, contractions.
ENGLISH = """# Care of brakes and chain

## When the brake leaks

If brake fluid is leaking or gushing out, do not ride: close the valve and take the bike to the shop the same day.

## Delivery and labour

On delivery of a new bike, check that no cord is torn. The shop charges an hour of labour for it.

## How tight the brake should be

The lever should stop three centimetres before the handlebar. Turn the screw until the cord is tight.
"""
SPANISH = """# Cuidado de los frenos

## Pérdida de líquido del freno

Si el freno pierde líquido, no monte: cierre la válvula y lleve la bicicleta al taller el mismo día.

## Cuánto aprieta el freno

La palanca se detiene a tres centímetros del manillar. El cordón no debe tener desgarros tras la entrega.
"""
LEAK = "My brake is leaking fluid and it is gushing out, what now?"
QUESTIONS = [
    LEAK,
    "my chain is bleeding oil, what now?",
    "how tight should the brake be on delivery?",
    "El freno pierde líquido desde hace una hora, ¿qué hago?",
]
OF_PREGNANCY = re.compile(
    r"matern|pregnan|midwi|obstetr|gestat|\bbirth|newborn|\bbab(?:y|ies)\b|amnio|f[oe]*tus|womb|postpart|perine|"
    r"embaraz|matrona|partera|\bpartos?\b|\bbeb[eé]|reci[eé]n nacid|gestaci|[uú]tero|posparto",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def indexed(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> tuple[Lab, str]:
    """The bicycles, opened, and all that indexing wrote and said."""
    folder = tmp_path_factory.mktemp("bicycles")
    settings = Settings(home=tmp_path_factory.mktemp("home"), llm="offline")
    (folder / "en.md").write_text(ENGLISH, encoding="utf-8")
    (folder / "es.md").write_text(SPANISH, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rag_core.lab.opening.load_engines", lambda settings, tell=None: lab.engines)
        said = rag_core.index(folder, "bicycles", subject="bicycles and their repair", enrich=True, settings=settings)
    opened = open_lab("bicycles", settings=settings, engines=lab.engines)
    written = [path.read_bytes() for path in (settings.home / "corpora").rglob("*") if path.is_file()]
    text = f"{said}" + b"\n".join(written).decode("utf-8", "replace")
    return opened, re.sub("[0-9a-f-]{32,}", "", text)  # identifiers: one in some thousand spells "bebe"


def compared(lab: Lab, question: str) -> list[Trace]:
    everything = {"transform": True, "rerank": True}
    return lab.compare(question, [(name, everything if name == "contextual" else {}) for name in RECIPES])


def of_pregnancy(text: str) -> list[str]:
    """The words of pregnancy in a text, each with what stands around it."""
    return [text[max(0, one.start() - 60) : one.end() + 40] for one in OF_PREGNANCY.finditer(text)]


def test_indexing_writes_none(indexed):
    _, written = indexed
    assert "handlebar" in written
    assert of_pregnancy(written) == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_neither_a_record_nor_a_report_has_one(indexed, question):
    opened, _ = indexed
    traces = compared(opened, question)
    session = session_json(traces)
    page = report(parse_session(session), datetime.now(UTC))
    kept = "".join(map(pack, traces))
    assert sum(bool(one.ranking.hits) for one in traces) > len(RECIPES) // 2
    assert of_pregnancy(as_json(session)) == of_pregnancy(kept) == of_pregnancy(page) == []
    assert not any(trace.triage.urgent or trace.answer.notice for trace in traces if trace.answer)
