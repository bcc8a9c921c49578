"""Opening and indexing corpora: loads the models, and builds or repairs both indexes where needed; the first question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..documents.asked import WRITTEN, asked_folder
from ..documents.documents import BUILTIN, Document
from ..indexing import (
    CONTEXTS,
    Chunking,
    CorpusIndex,
    CorpusStore,
    Enricher,
    EnrichmentEstimate,
    LlmEnricher,
    Progress,
    Report,
    SourceFiles,
    WriteReport,
    clear_staged,
    context_template,
    cut_by,
    no_progress,
    read_given,
    read_path,
    state_of,
    stores_of,
    was_noted,
    words_only,
    write_questions,
)
from ..indexing.stores import WORDS
from ..models.tokenizer import FALLBACK, count_tokens
from ..offline.memory import compared_texts
from ..values.errors import (
    ConfigError,
    DataError,
    IndexBusy,
    IndexDamaged,
    IndexOutdated,
    InputError,
    RagError,
    StorageError,
    attach_calls_to_errors,
)
from ..values.message import Message
from ..values.model_choice import OFFLINE_MODEL
from ..values.profile import Profile
from ..values.prompt_injection import gives_orders
from ..values.settings import Role, Settings, read_settings
from ..values.translation import language_name
from ..values.types import ModelCall
from .asked import keep_own
from .corpora import LabPool
from .engines import Engines, load_engines
from .lab import Lab

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import Document as LlamaDocument
    from llama_index.core.schema import TransformComponent

MOST_PASSAGES = 20_000  # of an uploaded corpus, whose sentences are embedded with them, at about twice the time
TOGETHER = 100  # passages whose sentences are embedded and kept before the next
OUR_DATA = Settings.model_fields["data"].default  # any other folder of data may be anybody's
SHOWN_FAILURES = 3  # files named in a warning; `rag index` lists them all
LONGEST_NAME = 100  # bytes of a corpus's name
KEPT_PROMPT = (
    "The contexts' prompt is the one this corpus was last indexed with; `--context-prompt standard` goes back."
)
WORDS_ALONE = "Indexed by words alone, for bm25; strategies that need vectors run once it is indexed without --only."
CORPUS_NAME = "letters, digits, '.', '_' and '-'"


def open_lab(
    corpus: str = BUILTIN,
    *,
    settings: Settings | None = None,
    documents: Path | None = None,
    engines: Engines | None = None,
    embed_model: BaseEmbedding | None = None,
    llm: object = None,
    rewriter_llm: object = None,
    judge_llm: object = None,
    progress: Progress = no_progress,
    consent: Callable[[Sequence[ModelCall]], None] = lambda calls: None,
    vectors_later: bool = False,
    wait: bool = False,
) -> Lab:
    """Open a corpus: load the models, and build, renew or repair the index where needed.

    The built-in corpus is brought up to date with its documents; any other corpus must have been indexed before, or is
    brought up to date with the files in `documents`. A RagError says what is missing, and the command that mends it.

    Args:
        embed_model: a LlamaIndex model in place of the settings'; the corpus must have been indexed with it.
        llm: a LlamaIndex or LangChain model, or a model's name; `rewriter_llm` and `judge_llm` likewise, by default `llm`.
        consent: receives the embedding calls that a provider is about to be sent, before the first one;
            raising an error keeps them from being made.
        vectors_later: open and check the vector stores when first searched; damage found then is not repaired
            until the corpus is opened again without this. For questions that search words only.
        wait: while another process writes the index, wait until it has, in place of an error or an older index.
    """
    settings = settings or read_settings()
    check_corpus_name(corpus)
    clear_staged(settings.home)
    state, reading = "", None  # leaves it as it was indexed
    if corpus == BUILTIN:
        state = state_of(settings.data / "corpus")
        if not was_noted(settings.home, corpus, state):  # before the models, which take much longer
            reading = builtin_files(settings, progress)
    elif documents:
        reading = read_path(documents, progress)
    engines = engines or load_engines(settings, lambda what: progress(what, 0, 1))
    roles: dict[Role, object] = {"answer": llm, "rewrite": rewriter_llm or llm, "judge": judge_llm or llm}
    engines = engines.with_models(settings, roles, embed_model)
    store = corpus_store(
        settings,
        corpus,
        engines,
        consent,
        vectors_later=vectors_later,
        waiting=(lambda: progress("waiting for another process to write the index", 0, 1)) if wait else None,
    )
    lab = Lab(settings, corpus, engines, store)
    lab.others = LabPool(lambda name: open_lab(name, settings=settings, engines=engines, consent=consent)).get
    progress("opening the index", 0, 1)
    damage, current, unchanged = None, True, False
    try:
        if opened := store.open():
            current = store.is_current(opened)
            unchanged = current and store.is_complete(opened) and store.is_of(opened, state)
        del opened  # so that nothing reads the old generation when a new one is written
    except IndexDamaged as error:
        damage = error
    if corpus == BUILTIN and not (reading or unchanged):
        reading = builtin_files(settings, progress)
    report = Report(corpus)
    try:
        if reading:
            report = store.update(reading, progress)
        elif damage or not current:
            report = _rebuild(store, damage, progress)
    except (IndexBusy, StorageError) as error:
        if damage or not current or not store.exists:
            raise
        lab.warnings.append(Message("{error} Until then, questions use the current index.", error=error.sentence))
    if damage and not isinstance(damage, IndexOutdated):  # which an update brings about, and no fault
        lab.warnings.append(_rebuilt(damage.message))
    if report.failed:
        lab.warnings.append(_not_indexed(report))
    elif corpus == BUILTIN and not unchanged:
        store.note(state)
    lab.calls += report.calls
    with attach_calls_to_errors(report.calls):
        lab.warnings += _enriched_too(store, lab, engines, progress)
    progress("ready", 1, 1)
    return lab


def _rebuilt(damage: str) -> Message:
    return Message("{damage} It has been rebuilt.", damage=damage)


def _not_indexed(report: Report) -> Message:
    """How many files are not in the corpus, and why the first of them are not."""
    shown = report.failed[:SHOWN_FAILURES]
    told = (Message("{file}: {reason}", file=file, reason=reason) for file, reason in shown)
    failures = Message.joined(told, "; ")
    return Message(
        "Not in corpus {corpus!r} ({count}): {failures}{end}",
        corpus=report.corpus,
        count=len(report.failed),
        failures=failures,
        end="" if failures.endswith(".") else ".",
    )


def corpus_store(
    settings: Settings,
    corpus: str,
    engines: Engines,
    consent: Callable[[Sequence[ModelCall]], None],
    *,
    vectors_later: bool = False,
    waiting: Callable[[], None] | None = None,
    only: Literal["words"] | None = None,
) -> CorpusStore:
    """The store of a corpus as the settings have it; asks for consent before a provider embeds anything."""
    stores = stores_of(settings)

    def before(requests: Sequence[Sequence[str]]) -> None:
        if not engines.embedder.local:
            consent([engines.embedder.bill(texts) for texts in requests])

    return CorpusStore(
        settings.home,
        corpus,
        engines.embedder,
        settings.data / "vectors",
        before,
        stores=words_only(stores) if only else stores,
        vectors_later=vectors_later,
        waiting=waiting,
    )


def _enriched_too(store: CorpusStore, lab: Lab, engines: Engines, progress: Progress) -> list[str]:
    """Bring the enriched index up to date with the plain one; returns warnings for the user."""
    try:
        written, note = _follow(store, lab.index, engines.enricher(lab.profile.subject), progress)
    except (IndexBusy, StorageError) as error:
        return [error.message]
    lab.calls += written.embeddings if written else ()
    damage = _rebuilt(written.damage) if written and written.damage else ""
    return [told for told in (damage, note) if told]


def _follow(
    store: CorpusStore, index: CorpusIndex, offline: Enricher, progress: Progress
) -> tuple[WriteReport | None, str]:
    """Update the enriched index, which the built-in corpus always has; what was written, and a note."""
    if store.corpus == BUILTIN:
        return store.enriched.follow(index, offline, progress), ""
    return store.enriched.sync_if_free(index, offline, progress)


def builtin_files(settings: Settings, progress: Progress = no_progress) -> SourceFiles:
    """The files of the built-in corpus, as they are indexed; raises DataError if none can be read."""
    try:
        reading = read_path(settings.data / "corpus", progress, trusted=settings.data == OUR_DATA)
    except InputError as error:
        raise DataError(
            Message("The built-in documents are missing: {reason}", reason=error.message),
            Message("Restore that folder, or set RAG_DATA to a folder whose corpus/ has documents."),
        ) from error
    reading.root, reading.owner = BUILTIN, True  # wherever the folder is
    return reading


def _rebuild(store: CorpusStore, damage: IndexDamaged | None, progress: Progress) -> Report:
    """Rebuild an index that is damaged, or was made by another version or with another gloss."""
    try:
        return store.rebuild(progress)
    except IndexDamaged as lost:
        if damage is None:
            raise
        raise IndexDamaged(Message.joined([damage.message, lost.message], " "), lost.next_step) from damage


def index(
    documents: str | Path | Iterable[Document | LlamaDocument],
    corpus: str,
    *,
    enrich: bool = False,
    context_prompt: str | None = None,
    subject: str | None = None,
    languages: Sequence[str] | None = None,
    chunk_size: int | None = None,
    overlap: int | None = None,
    embed_model: BaseEmbedding | None = None,
    transformations: Sequence[TransformComponent] = (),
    only: Literal["words"] | None = None,
    settings: Settings | None = None,
    progress: Progress = no_progress,
    consent: Callable[[Sequence[ModelCall]], None] = lambda calls: None,
    announce: Callable[[EnrichmentEstimate], None] = lambda estimate: None,
) -> Report:
    """Index documents into a corpus, so that it holds these: others indexed from the same path are removed.

    Raises RagError if the path cannot be used, the index is busy, or the disk is full; nothing is lost.

    Args:
        documents: a file, a folder or a BEIR folder; or documents that the program holds, which count as one path.
        enrich: also index the corpus's passages with contexts, written by the provider's model for it, or by the
            offline engine, as always for the built-in corpus. The provider's model also writes the questions that each
            passage answers.
        context_prompt: the message that asks the provider's model for a context, with {passage}, and {title} and
            {document} if it needs them; empty for the standard one, by default the one it was last indexed with.
            Another one writes every context again.
        subject: what the corpus is about, as a phrase; by default from the folder's profile.toml, or the one it had.
        languages: ISO 639-1 codes of its documents; by default likewise, or those detected.
        chunk_size: the most word pieces of a passage, 0 for the default; by default as it is.
        overlap: the most word pieces that a passage repeats from the one before it; by default as it is.
        embed_model: a LlamaIndex model in place of the settings'.
        transformations: LlamaIndex node parsers, which cut the documents in place of the lab; the text of a node is a
            passage, however long.
        only: "words" to embed nothing, for strategies that search words alone, such as bm25; any other then raises
            MissingResource, until the documents are indexed again without it.
        consent: as for `open_lab`; `announce` likewise, for the contexts that a provider's model writes, when the
            passages are indexed already.
    """
    settings = settings or read_settings()
    check_corpus_name(corpus)
    given: dict[str, Any] = {} if subject is None else {"subject": subject}
    given |= {} if languages is None else {"languages": list(languages)}
    said = Profile.of(given)  # checked before anything is read
    Chunking(chunk_size or 0)
    reading = read_path(Path(documents), progress) if isinstance(documents, str | Path) else read_given(documents)
    engines = load_engines(settings, lambda what: progress(what, 0, 1))
    engines = engines.with_models(settings, {}, embed_model)
    if transformations:
        reading.documents = cut_by(transformations, reading.documents)
    store = corpus_store(settings, corpus, engines, consent, only=only)
    now = store.chunking
    reading.chunking = Chunking(
        now.size if chunk_size is None else chunk_size, now.overlap if overlap is None else overlap
    )
    if given:
        known = reading.profile or store.profile
        reading.profile = replace(known, **{name: getattr(said, name) for name in given})
    if context_prompt and ("enrich" not in engines.paid or corpus == BUILTIN):
        raise ConfigError(
            Message("A context prompt needs a language model, and a corpus of your own."),
            Message("Set OPENAI_API_KEY or OPENAI_BASE_URL, or leave the context prompt out."),
        )
    context_template(context_prompt or "")  # checked before anything is written
    indexing = Indexing(store, engines, settings, enrich, context_prompt, progress, announce)
    report = indexing.update(reading)
    indexing.ask_for_questions(report)
    return report


@dataclass(frozen=True)
class Indexing:
    """Brings both indexes of a corpus up to date; as `index`.

    `sentences` of passages are embedded too, which otherwise the first questions that find them wait for.
    """

    store: CorpusStore
    engines: Engines
    settings: Settings
    enrich: bool = False
    context_prompt: str | None = None
    progress: Progress = no_progress
    announce: Callable[[EnrichmentEstimate], None] = lambda estimate: None
    sentences: bool = False

    def update(self, reading: SourceFiles, alongside: Callable[[], None] = lambda: None) -> Report:
        """Index files that were read, and keep their questions; `alongside` is for `CorpusStore.update`."""
        report = self.store.update(reading, self.progress, alongside)
        report.notes += keep_own(self.settings, self.store, reading, report.removed)
        report.orders = [one.id for one in reading.documents if any(map(gives_orders, (one.id, one.title, one.text)))]
        self.finish(report)
        return report

    def finish(self, report: Report) -> None:
        """Bring the enriched index up to the plain one just written, and embed sentences if asked to; adds to the report."""
        store, engines = self.store, self.engines
        with attach_calls_to_errors(report.calls):
            index = store.open()
            assert index is not None  # written just now
            if self.sentences and (report.added or report.changed or report.embedded):
                embed_sentences(index, engines, self.progress)
            if index.manifest.store == WORDS:
                report.notes.append(WORDS_ALONE)
            offline = engines.enricher(index.profile.subject)
            if self.enrich and store.corpus != BUILTIN:
                model = engines.paid.get("enrich")
                kept = self.settings.home / "vectors" / CONTEXTS
                prompt = store.enriched.own_prompt if self.context_prompt is None else self.context_prompt
                enricher = LlmEnricher(model, engines.prices, kept, self.announce, prompt) if model else offline
                if self.context_prompt is None and enricher.own_prompt:
                    report.notes.append(KEPT_PROMPT)
                retry = model is not None
                report.enriched = store.enriched.follow(index, enricher, self.progress, retry_missing=retry)
            else:
                report.enriched, note = _follow(store, index, offline, self.progress)
                report.notes += [note] if note else []
        if (written := report.enriched) and written.without_context:
            report.failed.append(("contexts", _missing(Message("no context and stay plain"), written)))

    def ask_for_questions(self, report: Report) -> None:
        """Have the provider's model write the questions of one's own passages; adds to the report."""
        model, index = self.engines.paid.get("enrich"), self.store.open()
        if not (self.enrich and model and index and self.store.corpus != BUILTIN):
            return
        enriched = report.enriched
        with attach_calls_to_errors((*report.embeddings, *(enriched.calls if enriched else ()))):
            report.questions = written = write_questions(
                asked_folder(self.settings.home, self.store.corpus) / WRITTEN, index.passages.values(), model, self.engines.prices, self.announce,
                partial(self.progress, "questions"),
            )  # fmt: skip
        if written.without_context:
            report.failed.append(("questions", _missing(Message("no questions"), written)))


def embed_sentences(index: CorpusIndex, engines: Engines, progress: Progress) -> None:
    """Keep the vectors of a corpus's sentences and titles, and of its passages without context, for the offline engine.

    Large corpora are left out: their sentences are embedded when a question first finds them, as after `index`.
    """
    passages = list(index.passages.values())
    if len(passages) > MOST_PASSAGES:
        return
    for start in range(0, len(passages), TOGETHER):
        progress("sentences", start, len(passages))
        parts = [(one, (one.indexed_text, *compared_texts(one))) for one in passages[start : start + TOGETHER]]
        texts = [text for _, own in parts for text in own]
        languages = [one.language for one, own in parts for _ in own]
        engines.scorer.embedder.embed(texts, "passage", languages)
    progress("sentences", len(passages), len(passages))


def _missing(what: Message, written: WriteReport) -> str:
    return Message(
        "{count} of {total} passages have {what} ({reason}); run the same command again",
        count=written.without_context, total=written.passages, what=what, reason=written.reason,
    )  # fmt: skip


def check_corpus_name(corpus: str) -> None:
    """Raise ConfigError for a name that cannot be a folder name."""
    if len(corpus.encode(errors="replace")) > LONGEST_NAME:
        raise ConfigError(
            Message("The corpus name {corpus!r}... is too long.", corpus=corpus[:20]),
            Message("Use at most {most} letters.", most=LONGEST_NAME),
        )
    if not corpus or corpus.startswith(".") or not all(char.isalnum() or char in "._-" for char in corpus):
        raise ConfigError(
            Message("{corpus!r} is not a valid corpus name.", corpus=corpus),
            Message("Use {rule}.", rule=CORPUS_NAME),
        )


# misspelt: for the dictionaries; with a number: for the patterns of addresses; of a person: for those of urgent signs
QUESTIONS = {"en": "When do I get my anti-D givven?", "es": "¿Cuándo se pone la antidé en la semana 28?"}


def warm_up(lab: Lab, language: str) -> None:
    """Ask a question in "en" or "es" and forget the answer; the offline engine answers, at no cost."""
    language_name(language, language)  # a remark may name it
    count_tokens("", FALLBACK)
    strategy = "hybrid_rrf" if lab.engines.embedder.local else "bm25"
    with suppress(RagError):  # a user's question will say what is wrong
        lab.run(QUESTIONS[language], strategy, model=OFFLINE_MODEL)
