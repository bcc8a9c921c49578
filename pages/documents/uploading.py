"""The form that adds one's own documents, and what became of them."""

from __future__ import annotations

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import t
from pages.shared import corpora
from pages.shared.engine import engine
from pages.shared.measuring import jobs, started_here, under_way
from rag_core.documents.documents import BUILTIN
from rag_core.indexing import Chunking, Upload
from rag_core.indexing.cutting import CHUNK_SIZES
from rag_core.indexing.uploads import MAX_UPLOAD, MAX_UPLOADS
from rag_core.jobs import start_adding, start_reindexing

TYPES = "md, txt, html, pdf, docx, xlsx, csv, json, jsonl, asked.tsv"
ROUND = "upload.round"  # counts uploads, so that each begins with an empty box
SMALL, LARGE = CHUNK_SIZES


def draw() -> None:
    """Draw the form, with the uploads of this server above it."""
    under_way("index")
    round_now = st.session_state.setdefault(ROUND, 0)
    own = [name for name in corpora.names() if name != BUILTIN]
    chosen = corpora.chosen()
    with st.form("upload"):
        name = untrusted.choose(
            t("Name of the collection"), own, corpora.title, "upload.corpus",
            index=own.index(chosen) if chosen in own else None, accept_new_options=True,
            placeholder=t("Type a new name, or choose one"),
        )  # fmt: skip
        files = st.file_uploader(
            t(
                "Files ({types}; up to {size:.0f} MB each, {max_uploads:d} at once)",
                types=TYPES,
                size=MAX_UPLOAD / 1e6,
                max_uploads=MAX_UPLOADS,
            ),
            accept_multiple_files=True,
            key=f"upload.files.{round_now:d}",
        )
        with st.expander(t("More choices")):
            subject = st.text_input(
                t("What they are about (for prompts)"), max_chars=200, key="upload.subject",
                placeholder=t("food and nutrition on the ward"),
                help=t("Urgent signs are looked for in questions to them unless this names a subject other than "
                "pregnancy, birth or babies."),
            )  # fmt: skip
            enrich = st.toggle(
                t("Add a context to each passage"), key="upload.enrich",
                help=t("For the strategy Contextual: each passage is also indexed with a line on what its document "
                "is about. The offline engine writes it free of charge; a paid model after you have seen the cost."),
            )  # fmt: skip
        untrusted.say(_where())
        pressed = st.form_submit_button(t("Add documents"), type="primary")
    if pressed:
        _start(name, files, subject, enrich=enrich)


@untrusted.errors()
def _start(
    name: str | None,
    files: list[st.runtime.uploaded_file_manager.UploadedFile],
    subject: str,
    *,
    enrich: bool,
) -> None:
    settings = engine().settings
    if settings is None:
        return  # the status line says why
    if not name or not files:
        st.error(t("Give the collection a name.") if files else t("Choose at least one file."))
        return
    uploads = [Upload(one.name, one.getvalue()) for one in files]
    started_here(start_adding(
        jobs(), lambda: engine().wait().engines, settings, uploads, name, enrich=enrich, subject=subject.strip()
    ))  # fmt: skip
    st.session_state[ROUND] += 1
    st.rerun()


def _where() -> str:
    lab = engine().lab
    server = lab.engines.embedder.server if lab else ""
    sent = t(" Their text is sent to {server} to be embedded.", server=server) if server else ""
    return t(
        "The files are kept on this server, and everybody who uses it can search and read them.{sent} "
        "Do not upload data of patients.",
        sent=sent,
    )


def chunking(corpus: str, lab: rag_core.Lab) -> None:
    """Draw the form, with what is under way above it; nothing for an index that is lost, which the status line says."""
    under_way("reindex")
    try:
        now, enriched, cost = lab.index.manifest.chunking, lab.enriched is not None, _cost(lab)
    except rag_core.RagError:
        return
    built_in = corpus == BUILTIN
    with st.expander(t("How they are cut into passages")), st.form("chunking", border=False):
        own_size = st.toggle(
            t("Choose the size"), value=bool(now.size), key=f"chunks.own.{corpus}",
            help=t("Otherwise a passage is one section, as far as the bundled embedding model reads: 254 word pieces, "
            "320 in Spanish."),
        )  # fmt: skip
        size = st.slider(
            t("Most word pieces of a passage"), SMALL, LARGE, now.size or 254, 2, key=f"chunks.size.{corpus}",
            help=t("With its title and headings. Counts only while the size is chosen. An embedding model reads no "
            "further than its window, 254 word pieces for the bundled one; keyword search reads all."),
        )  # fmt: skip
        overlap = st.slider(
            t("Most word pieces repeated from the passage before"), 0, SMALL // 2, now.overlap, 2,
            key=f"chunks.overlap.{corpus}", help=t("Whole sentences, where a long section is cut."),
        )  # fmt: skip
        enrich = st.toggle(
            t("Add a context to each passage"), value=enriched, disabled=built_in,
            key=f"chunks.enrich.{corpus}",
            help=t("For the strategy Contextual. The built-in documents keep theirs; Contextual's own control leaves "
            "them out."),
        )  # fmt: skip
        pressed = st.form_submit_button(t("Index again"))
        untrusted.say(cost)
    if pressed:
        _reindex(corpus, Chunking(size if own_size else 0, overlap), enrich=enrich or built_in)


@untrusted.errors()
def _reindex(corpus: str, chunking: Chunking, *, enrich: bool) -> None:
    settings = engine().settings
    assert settings is not None  # a lab is open
    started_here(start_reindexing(jobs(), lambda: engine().wait().engines, settings, corpus, chunking, enrich=enrich))
    st.rerun()


def _cost(lab: rag_core.Lab) -> str:
    count = len(lab.index.passages)
    if lab.engines.embedder.local:
        return t(
            "Its {count:,} passages are embedded again on this server, which takes a minute or two per thousand. "
            "Questions use the current index until then.",
            count=count,
        )
    return t(
        "Its {count:,} passages are embedded again by {model}. You see the cost and agree to "
        "it before anything is sent.",
        count=count,
        model=lab.engines.embedder.name,
    )
