"""`rag exam`: which strategy works on an owner's documents, by questions and people who say which passages answer."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..values.errors import InputError, Stopped, attach_calls_to_errors
from ..values.types import text_key
from .evaluate import confirm
from .interrupt import at_a_prompt, interruptible
from .layout import paragraph, progress, questions, say, say_json, several_lines, typed
from .options import AsJson, Sets, Strategies, Yes, a_path, parse_strategies, read_text

exam = typer.Typer(no_args_is_help=True, help="Find out which strategy works on your own documents.")
Code = Annotated[str, typer.Argument(help="The exam's code, as `rag exam make` printed it.", show_default=False)]
KEYS = "2 answers it, 1 in part, 0 no; h before it: it could harm; s skip this question, q stop"


@exam.command()
def make(
    file: Annotated[
        Path,
        typer.Argument(
            help="Questions: one a line, a table with a column 'question', or a queries.jsonl.", parser=a_path
        ),
    ],
    corpus: Annotated[str, typer.Option(help="The corpus that it is about, see `rag index`.")],
    title: Annotated[str, typer.Option(help="What judges see.", show_default="the corpus")] = "",
    depth: Annotated[int, typer.Option(min=1, max=20, help="Passages of each strategy that are judged.")] = 5,
    twice: Annotated[float, typer.Option(min=0, max=1, help="Share of the questions that two people judge.")] = 0.25,
) -> None:
    """Make an exam from questions."""
    from .. import evaluation as ev
    from ..sessions.exam.exam import read_drafts
    from ..values.settings import read_settings

    pairs = ev.Results.read(read_settings().data / "results.json").comparisons
    made = _kept().make(corpus, read_drafts(read_text(file)), title=title, depth=depth, twice=twice)
    count = len(_kept().questions(made.code))
    say(f"Exam {made.code}: {questions(count)} about {corpus}.")
    say(
        f"{questions(count)} tell a difference of {ev.detectable(count, pairs):.2f} nDCG@10 apart, as on the built-in "
        f"set; for 0.08 it takes {ev.questions_for(0.08, pairs)}."
    )
    say(f"Next: rag exam pool {made.code} --strategies bm25,hybrid_rrf,ensemble")


@exam.command()
def pool(code: Code, strategies: Strategies, set_: Sets = None, yes: Yes = False) -> None:
    """Collect what strategies find first, to be judged; with other strategies later, only what is new is asked."""
    from .. import evaluation as ev
    from ..lab.opening import open_lab
    from ..sessions.exam import pooling

    kept = _kept()
    made, chosen = kept.exam(code), ev.build_strategies(parse_strategies(strategies, set_ or []))
    with interruptible() as stop:
        lab = open_lab(made.corpus, progress=progress)
        with attach_calls_to_errors(lab.calls):
            planned = [ev.Workload(asked, left) for asked, left in pooling.left_to_pool(kept, made, chosen)]
            confirm(ev.estimate(planned, lab.rehearsal()), yes=yes)
            pooling.pool(lab, kept, made, chosen, progress=progress, stop=stop)
    progress("ready", 1, 1)
    standing = _standing(kept, made)
    say(f"{standing.cards - standing.judged} of {standing.cards} passages are to be judged.")
    say(f"Next: rag exam judge {made.code}, or the page /judge?room={made.code} of the app.")


@exam.command()
def judge(
    code: Code,
    name: Annotated[str, typer.Option("--as", help="Who judges; any name, the same each time.")] = "me",
) -> None:
    """Judge in the terminal; each answer is kept at once."""
    from ..sessions.panel.room import token_from

    kept, token = _kept(), token_from("terminal", name.strip().casefold())
    skipped: set[int] = set()
    while (asked := kept.next(code, token)) and asked.number not in skipped:
        said = {one.passage for one in kept.own_ticks(code, token) if one.question == asked.number}
        say(f"\n{asked.number}. {asked.text}", bold=True)
        paragraph(KEYS)
        for passage in asked.passages:
            if text_key(passage) in said:
                continue
            say(f"\n{passage.full_title}")
            several_lines(passage.text)
            if (grade := _grade()) is None:
                skipped.add(asked.number)
                break
            kept.tick(code, token, asked.number, text_key(passage), *grade)
    say("\nNothing is left for you." if asked is None else "\nThe rest stays open.")


def _grade() -> tuple[int, str] | None:
    """A grade, and how the passage could harm; None to skip the question. Raises Stopped to stop."""
    with at_a_prompt():
        while True:
            key = typed(">").casefold()
            if key == "q":
                raise Stopped
            if key == "s":
                return None
            if key.removeprefix("h") in ("0", "1", "2"):
                return int(key[-1]), typed("How could it harm?") if key.startswith("h") else ""
            paragraph(KEYS)


@exam.command()
def status(
    code: Annotated[str, typer.Argument(help="The exam's code.", show_default="all of them")] = "",
    as_json: AsJson = False,
) -> None:
    """Say how far exams are."""
    kept = _kept()
    found = [kept.exam(code)] if code else kept.all()
    standings = {one.code: _standing(kept, one) for one in found}
    if as_json:
        known = {one.code: {"title": one.title, "corpus": one.corpus, "depth": one.depth} for one in found}
        say_json({"exams": {code: {**known[code], **one.as_json()} for code, one in standings.items()}})
        return
    for one in found:
        now = standings[one.code]
        alpha = "not defined yet" if now.agreement is None else f"{now.agreement:.2f}"
        say(f"{one.code} {one.title} (corpus {one.corpus}, {one.opened:%Y-%m-%d})")
        paragraph(f"{now.complete} of {questions(now.questions)} complete, {now.judged} of {now.cards} passages judged")
        paragraph(f"{now.people} people, agreement {alpha}, {now.disputed} disagreements, {now.harmful} could harm")
    if not found:
        say("There is no exam.")


@exam.command()
def export(code: Code, folder: Annotated[Path, typer.Argument(help="Folder to write.", parser=a_path)]) -> None:
    """Write an exam as a BEIR folder, for `rag eval --data` and other tools."""
    from ..lab.opening import open_lab
    from ..sessions.exam import folder as files

    kept = _kept()
    made = kept.exam(code)
    passages = open_lab(made.corpus, progress=progress).passages.values()
    progress("ready", 1, 1)
    files.export(made, kept.questions(code), kept.ticks(code), passages, folder)
    say(f"Exam {made.code} is in {folder}.")
    say(f"Next: rag eval --data {folder} --strategies bm25,hybrid_rrf,ensemble")


def _kept() -> Any:
    from ..sessions.exam.store import Exams
    from ..values.settings import read_settings

    if (kept := Exams.opened(read_settings())) is None:
        raise InputError("No exams are kept: RAG_HISTORY is off.", "Set RAG_HISTORY=on.")
    return kept


def _standing(kept: Any, made: Any) -> Any:
    from ..sessions.exam.folder import Standing

    return Standing.of(made, kept.questions(made.code), kept.ticks(made.code))
