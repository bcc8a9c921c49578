"""`rag exam`: which strategy works on an owner's documents, by questions and people who say which passages answer."""

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import rag_core

from ..values.errors import InputError, Stopped, attach_calls_to_errors
from ..values.types import spent_so_far
from .evaluate import confirm
from .interrupt import at_a_prompt, interruptible
from .layout import agreed, paragraph, progress, questions, say, say_json, several_lines, typed
from .options import AsJson, Sets, Strategies, Yes, a_path, parse_strategies, read_text

exam = typer.Typer(no_args_is_help=True, help="Find out which strategy works on your own documents.")
Code = Annotated[str, typer.Argument(help="The exam's code, as `rag exam make` printed it.", show_default=False)]


@exam.command()
def make(
    corpus: Annotated[str, typer.Option(help="The corpus that it is about, see `rag index`.")],
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Questions: one a line, a table with a column 'question', or a queries.jsonl.", parser=a_path
        ),
    ] = None,
    draft: Annotated[
        int,
        typer.Option(min=0, max=100, help="Sections of which a language model drafts a question; you agree to each."),
    ] = 0,
    title: Annotated[str, typer.Option(help="What judges see.", show_default="the corpus")] = "",
    depth: Annotated[int, typer.Option(min=1, max=20, help="Passages of each strategy that are judged.")] = 5,
    twice: Annotated[float, typer.Option(min=0, max=1, help="Share of the questions that two people judge.")] = 0.25,
    yes: Yes = False,
) -> None:
    """Make an exam from your own questions, from drafts of a language model that you agree to, or from both."""
    from .. import evaluation as ev
    from ..sessions.exam.exam import read_drafts

    pairs = ev.Results.read(rag_core.read_settings().data / "results.json").comparisons
    kept, drafts = _kept(), read_drafts(read_text(file)) if file else []
    if draft:
        drafts += _drafted(corpus, draft, yes=yes)
    made, count = kept.make(corpus, drafts, title=title, depth=depth, twice=twice), len(drafts)
    say(f"Exam {made.code}: {questions(count)} about {corpus}.")
    say(
        f"{questions(count)} tell a difference of {ev.detectable(count, pairs):.2f} nDCG@10 apart, as on the built-in "
        f"set; for 0.08 it takes {ev.questions_for(0.08, pairs)}."
    )
    say(f"Next: rag exam pool {made.code} --strategies bm25,hybrid_rrf,ensemble")


def _drafted(corpus: str, sections: int, *, yes: bool) -> list[Any]:
    """The questions that are agreed to, of those that a language model drafts once its bill is."""
    from .. import evaluation as ev
    from ..sessions.exam import drafting

    if not sys.stdin.isatty():
        raise InputError("You agree to each draft by a key.", "Run it in a terminal, or write the questions.")

    def consent(bill: Any) -> None:
        confirm(ev.CostEstimate.of_contexts(bill), yes=yes, what="Drafting questions", instead="Write the questions.")

    with interruptible() as stop:
        lab = rag_core.open_lab(corpus, progress=stop.progress)
        written = drafting.write_drafts(lab, sections, consent, partial(stop.progress, "drafting"))
    progress("ready", 1, 1)
    found = drafting.drafts(lab, sections)
    for told in (spent_so_far(written.calls), drafting.undrafted(written), found.refusal if found.refused else ""):
        if told:
            paragraph(told)
    agreed_to = []
    for one, passage in found.offered:
        say(f"\n{one.text}", bold=True)
        if _key(passage, "Ask it? y yes, n no; q stop", "yn") == "y":
            agreed_to.append(one)
    return agreed_to


@exam.command()
def pool(code: Code, strategies: Strategies, set_: Sets = None, yes: Yes = False) -> None:
    """Collect what strategies find first, to be judged; with other strategies later, only what is new is asked."""
    from .. import evaluation as ev
    from ..sessions.exam import pooling

    kept = _kept()
    asked, chosen = kept.judgements(code), ev.build_strategies(parse_strategies(strategies, set_ or []))
    made = asked.exam
    kept.choose(made.code, [*chosen])
    with interruptible() as stop:
        lab = rag_core.open_lab(made.corpus, progress=progress)
        with attach_calls_to_errors(lab.calls):
            planned = [ev.Workload(*each) for each in pooling.left_to_pool(asked.questions, chosen)]
            confirm(ev.estimate(planned, lab.rehearsal()), yes=yes)
            pooling.pool(lab, kept, made, chosen, progress=progress, stop=stop)
    progress("ready", 1, 1)
    standing = kept.judgements(code).standing
    say(f"{standing.cards - standing.judged} of {standing.cards} passages are to be judged.")
    say(f"Next: the page /judge?room={made.code} of the app.")


@exam.command()
def settle(code: Code) -> None:
    """Say what counts where people disagree; until then the lower grade does."""
    kept = _kept()
    for card in kept.judgements(code).unsettled:
        say(f"\n{card.question.number}. {card.question.text}", bold=True)
        paragraph(f"People said: {', '.join(str(one.grade) for one in card.people)}.")
        if (key := _key(card.passage, "What counts? 2 answers it, 1 in part, 0 no; s skip it, q stop", "012s")) != "s":
            kept.settle(code, None, *card.place, int(key))
    say(f"\nDisagreements not settled: {len(kept.judgements(code).unsettled)}.")


def _key(passage: Any, told: str, keys: str) -> str:
    """Which of the `keys` is pressed for a passage. Raises Stopped for q."""
    say(f"\n{passage.full_title}")
    several_lines(passage.text)
    paragraph(told)
    with at_a_prompt():
        while (key := typed(">").casefold()) not in [*keys]:
            if key == "q":
                raise Stopped
            paragraph(told)
    return key


@exam.command()
def status(
    code: Annotated[str, typer.Argument(help="The exam's code.", show_default="all of them")] = "",
    as_json: AsJson = False,
) -> None:
    """Say how far exams are."""
    kept = _kept()
    found = [kept.exam(code)] if code else kept.all()
    standings = [(one, kept.judgements(one.code).standing) for one in found]
    if as_json:
        known = {one.code: {"title": one.title, "corpus": one.corpus, "depth": one.depth} for one in found}
        say_json({"exams": {one.code: known[one.code] | asdict(now) for one, now in standings}})
        return
    for one, now in standings:
        say(f"{one.code} {one.title} (corpus {one.corpus}, {one.opened:%Y-%m-%d})")
        paragraph(f"{now.complete} of {questions(now.questions)} complete; passages that could harm: {now.harmful}")
        paragraph(now.sentence)
    if not found:
        say("There is no exam.")


@exam.command()
def export(code: Code, folder: Annotated[Path, typer.Argument(help="Folder to write.", parser=a_path)]) -> None:
    """Write an exam as a BEIR folder, for `rag eval --data` and other tools."""
    from ..sessions.exam import folder as files

    judged = _kept().judgements(code)
    passages = rag_core.open_lab(judged.exam.corpus, progress=progress).passages.values()
    progress("ready", 1, 1)
    files.export(judged, passages, folder)
    say(f"Exam {judged.exam.code} is in {folder}.")
    say(f"Next: rag eval --data {folder} --strategies bm25,hybrid_rrf,ensemble")


@exam.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="Folder that `rag exam export` wrote.", parser=a_path)],
) -> None:
    """Take in an exported exam, with its questions, passages and judgements, under a new code."""
    from ..sessions.exam.folder import WHOLE, read_exam

    judged = read_exam(read_text(folder / WHOLE))
    made, now = _kept().add(judged), judged.standing
    say(f"Exam {made.code}: {questions(now.questions)} about {made.corpus}.")
    say(f"{now.judged} of {now.cards} passages are judged.")
    say(f"Next: rag exam status {made.code}")


@exam.command()
def delete(code: Code, yes: Annotated[bool, typer.Option("--yes", help="Do not ask before.")] = False) -> None:
    """Delete an exam for good: its questions, and what people said of them."""
    from ..sessions.exam.folder import drop_written

    kept = _kept()
    made = kept.exam(code)
    with at_a_prompt():
        if not yes and not (sys.stdin.isatty() and agreed(f"Delete exam {made.code} ({made.title}) for good?")):
            raise InputError("Nothing was deleted.", "Add --yes to delete it.")
    kept.delete_exam(code, None)
    drop_written(rag_core.read_settings().home)
    say(f"Exam {made.code} is deleted.")


def _kept() -> Any:
    from ..sessions.exam.store import Exams

    if (kept := Exams.opened(rag_core.read_settings())) is None:
        raise InputError("No exams are kept: RAG_HISTORY is off.", "Set RAG_HISTORY=on.")
    return kept
