"""Passages whose guidance differs: an American section on a swab that also gives the British view, and the like."""

from dataclasses import replace

from rag_core.values.sources import Source
from rag_core.values.types import Hit, Passage

ACOG = Source("ACOG", "Committee Opinion 797", 2020, "A", "US", "guideline")
RCOG = Source("RCOG", "Green-top Guideline 36", 2017, "R", "UK", "guideline")
NICE = Source("NICE", "NG195", 2021, "N", "UK", "guideline")
WHO = Source("WHO", "Antenatal care", 2016, "W", "International", "guideline")
SPAIN = Source("Ministerio de Sanidad (España)", "Guía", 2014, "S", "Spain", "guideline")

AMERICAN = "ACOG advises a swab for every woman at 36 weeks."
BRITISH = "RCOG does not recommend a swab for everyone."
PLAIN = "The swab is taken from the vagina and the rectum."
BOTH = "A swab differs: ACOG advises it and RCOG does not."


def passage(
    *sentences: str,
    sources: tuple[Source, ...] = (ACOG,),
    differs_from: tuple[Source, ...] = (RCOG,),
    name: str = "swab",
) -> Passage:
    """A section on the swab, written from `sources`, that also names `differs_from`."""
    return Passage(
        f"{name}:0", name, "Group B streptococcus", " ".join(sentences) or f"{PLAIN} {AMERICAN} {BRITISH}", "The swab",
        sources=(*sources, *differs_from), differs_from=differs_from,
    )  # fmt: skip


def hit(*sentences: str, **of: object) -> Hit:
    return Hit(passage(*sentences, **of), 1.0, "cosine")  # type: ignore[arg-type]


def without_difference(one: Hit) -> Hit:
    return replace(one, passage=replace(one.passage, differs_from=()))
