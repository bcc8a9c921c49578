"""Retrieval strategies side by side, on one question, with the evidence, the cost and the reasons.

    import rag_core
    lab = rag_core.open_lab()
    trace = lab.run("When is anti-D given?", "hybrid_rrf", mmr_lambda=0.5)
    print(trace.answer.text)

Importing this package loads no model and reads no file; `open_lab` does.
"""

from __future__ import annotations

import functools
import importlib
import os
from types import ModuleType
from typing import TYPE_CHECKING, Any

# Read when numpy is imported. The matrices here are small; threads that share one out wait for each other on a busy
# machine, which doubles the time of MMR over 2,000 passages.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

if TYPE_CHECKING:
    from .catalog import (
        RECIPES,
        Choice,
        Control,
        Number,
        Preset,
        PromptText,
        Recipe,
        StrategySpec,
        Switch,
        Templates,
        Weights,
        build,
        describe,
        describe_changes,
        format_value,
        register,
        unregister,
    )
    from .catalog.address import Configuration, from_address, to_address
    from .catalog.outline import OutlinedStage, outline
    from .catalog.setup import Setup, SetupSpec, set_up, titles_of
    from .data.documents import BUILTIN, Document, builtin_documents, builtin_profile
    from .explain import (
        AnswerDifferences,
        ControlTips,
        Fate,
        FlowColumn,
        Lane,
        Missed,
        Move,
        Part,
        Place,
        RankChange,
        ScoreLine,
        SentenceChange,
        TippingPoint,
        Tuner,
        WhyNot,
        Work,
        answer_changes,
        answer_differences,
        decompose,
        fates,
        flow_columns,
        lanes,
        query_title,
        query_weights,
        rank_changes,
        stage_title,
        tipping_points,
    )
    from .explain import summary as summary_of_fates
    from .explain.bill import (
        TYPED,
        Bill,
        BillLine,
        Projection,
        Quote,
        Span,
        bill_of,
        cost_at,
        of_offline_engine,
        project,
        quotes,
        spans,
        texts_of,
    )
    from .indexing.chunking import SIZES as CHUNK_SIZES
    from .indexing.chunking import Chunking
    from .indexing.store import CorpusIndex
    from .indexing.uploads import MAX_FILE as MAX_UPLOAD
    from .indexing.uploads import MAX_FILES as MAX_UPLOADS
    from .indexing.uploads import UPLOADS, Upload
    from .lab.adding import FileOutcome
    from .lab.browsing import (
        IndexedDocument,
        PassageSearch,
        indexed_documents,
        parts_of,
        passages_by_document,
        position_of,
        search_passages,
        size_of,
    )
    from .lab.corpora import LabPool, corpus_names
    from .lab.lab import Lab
    from .lab.opening import builtin_files, index_path, open_lab
    from .lab.removing import remove_corpus, remove_file
    from .lab.vector_map import PlacedPassage, PlacedQuery, VectorMap, vector_map
    from .lab.warming import warm_up
    from .language.highlight import Segment, highlight
    from .language.questions import MAX_QUESTION, check_question, question_notice
    from .offline.safety import SafetyCheck, check_safety
    from .pipeline.strategy import Strategy
    from .pipeline.stream import (
        Done,
        Event,
        Failed,
        StageFinished,
        StageStarted,
        StoppedEarly,
        Token,
        calls_of,
        collect,
    )
    from .privacy.find import find_private, redact
    from .privacy.spans import PrivateSpan
    from .privacy.words import kinds_in_words
    from .prompts.prompt import ENRICH as CONTEXT_PROMPT
    from .prompts.prompt import Template
    from .prompts.templates import MAX_TEMPLATES, custom_template
    from .prompts.templates import READY as READY_TEMPLATES
    from .runtime.spending import Payer, Spending, Visitor, paying
    from .seed_api import (
        format_docs,
        mmr_select,
        process_hybrid_rrf_query,
        process_rewriter_query,
        query_for_evaluation,
        ragas_samples,
        reciprocal_rank_fusion,
        retrieve_hybrid_rrf,
    )
    from .stages.messages import perhaps_you_meant
    from .urgency.helplines import Helplines, countries, helplines
    from .urgency.triage import triage, triage_for
    from .urgency.words import UrgentNotice, urgent_notice
    from .values.answers import HOW_GROUNDED, Answer, Citation, Grounded, Remark, Suggestion, bold_as_html
    from .values.errors import RagError, StageError
    from .values.exchanges import Exchange
    from .values.message import Message
    from .values.model_choice import OFFLINE_MODEL, ModelChoice
    from .values.notice import NOTICE
    from .values.orders import GIVES_ORDERS, gives_orders
    from .values.pricing import Price, PriceList
    from .values.profile import Profile
    from .values.provenance import QueryResults, SharedPassage, results_by_query, shared_passages
    from .values.settings import Settings, read_settings
    from .values.sources import Source, age_note, age_years, is_old, listed
    from .values.sources import names as source_names
    from .values.trace import Step, Trace
    from .values.triage import Triage
    from .values.types import (
        Cost,
        Hit,
        ModelCall,
        Passage,
        Query,
        Ranking,
        State,
        Vote,
        by_purpose,
        spent_so_far,
        token_counts,
    )
    from .values.visible import as_cell, visible

__all__ = [
    "BUILTIN",
    "CHUNK_SIZES",
    "CONTEXT_PROMPT",
    "GIVES_ORDERS",
    "HOW_GROUNDED",
    "MAX_QUESTION",
    "MAX_TEMPLATES",
    "MAX_UPLOAD",
    "MAX_UPLOADS",
    "NOTICE",
    "OFFLINE_MODEL",
    "READY_TEMPLATES",
    "RECIPES",
    "TYPED",
    "UPLOADS",
    "Answer",
    "AnswerDifferences",
    "Bill",
    "BillLine",
    "Choice",
    "Chunking",
    "Citation",
    "Configuration",
    "Control",
    "ControlTips",
    "CorpusIndex",
    "Cost",
    "Document",
    "Done",
    "Event",
    "Exchange",
    "Failed",
    "Fate",
    "FileOutcome",
    "FlowColumn",
    "Grounded",
    "Helplines",
    "Hit",
    "IndexedDocument",
    "Lab",
    "LabPool",
    "Lane",
    "Message",
    "Missed",
    "ModelCall",
    "ModelChoice",
    "Move",
    "Number",
    "OutlinedStage",
    "Part",
    "Passage",
    "PassageSearch",
    "Payer",
    "Place",
    "PlacedPassage",
    "PlacedQuery",
    "Preset",
    "Price",
    "PriceList",
    "PrivateSpan",
    "Profile",
    "Projection",
    "PromptText",
    "Query",
    "QueryResults",
    "Quote",
    "RagError",
    "RankChange",
    "Ranking",
    "Recipe",
    "Remark",
    "SafetyCheck",
    "ScoreLine",
    "Segment",
    "SentenceChange",
    "Settings",
    "Setup",
    "SetupSpec",
    "SharedPassage",
    "Source",
    "Span",
    "Spending",
    "StageError",
    "StageFinished",
    "StageStarted",
    "State",
    "Step",
    "StoppedEarly",
    "Strategy",
    "StrategySpec",
    "Suggestion",
    "Switch",
    "Template",
    "Templates",
    "TippingPoint",
    "Token",
    "Trace",
    "Triage",
    "Tuner",
    "Upload",
    "UrgentNotice",
    "VectorMap",
    "Visitor",
    "Vote",
    "Weights",
    "WhyNot",
    "Work",
    "age_note",
    "age_years",
    "answer_changes",
    "answer_differences",
    "as_cell",
    "bill_of",
    "bold_as_html",
    "build",
    "builtin_documents",
    "builtin_files",
    "builtin_profile",
    "by_purpose",
    "calls_of",
    "check_question",
    "check_safety",
    "collect",
    "corpus_names",
    "cost_at",
    "countries",
    "custom_template",
    "decompose",
    "describe",
    "describe_changes",
    "fates",
    "find_private",
    "flow_columns",
    "format_docs",
    "format_value",
    "from_address",
    "gives_orders",
    "helplines",
    "highlight",
    "index_path",
    "indexed_documents",
    "is_old",
    "kinds_in_words",
    "lanes",
    "listed",
    "mmr_select",
    "of_offline_engine",
    "open_lab",
    "outline",
    "parts_of",
    "passages_by_document",
    "paying",
    "perhaps_you_meant",
    "position_of",
    "process_hybrid_rrf_query",
    "process_rewriter_query",
    "project",
    "query_for_evaluation",
    "query_title",
    "query_weights",
    "question_notice",
    "quotes",
    "ragas_samples",
    "rank_changes",
    "read_settings",
    "reciprocal_rank_fusion",
    "redact",
    "register",
    "remove_corpus",
    "remove_file",
    "results_by_query",
    "retrieve_hybrid_rrf",
    "search_passages",
    "set_up",
    "shared_passages",
    "size_of",
    "source_names",
    "spans",
    "spent_so_far",
    "stage_title",
    "summary_of_fates",
    "texts_of",
    "tipping_points",
    "titles_of",
    "to_address",
    "token_counts",
    "triage",
    "triage_for",
    "unregister",
    "urgent_notice",
    "vector_map",
    "visible",
    "warm_up",
]

_NAMES = {  # module: its names
    "explain.bill": "TYPED Bill BillLine Projection Quote Span bill_of cost_at of_offline_engine project quotes spans texts_of",
    "catalog": "RECIPES Choice Control Number Preset PromptText Recipe StrategySpec Switch Templates Weights build describe describe_changes format_value register unregister",
    "catalog.address": "Configuration from_address to_address",
    "catalog.outline": "OutlinedStage outline",
    "catalog.setup": "Setup SetupSpec set_up titles_of",
    "data.documents": "BUILTIN Document builtin_documents builtin_profile",
    "explain": "AnswerDifferences ControlTips Fate FlowColumn Lane Missed Move Part Place RankChange ScoreLine SentenceChange TippingPoint Tuner WhyNot Work answer_changes answer_differences decompose fates flow_columns lanes query_title query_weights rank_changes stage_title summary_of_fates tipping_points",
    "indexing.chunking": "CHUNK_SIZES Chunking",
    "indexing.store": "CorpusIndex",
    "indexing.uploads": "MAX_UPLOAD MAX_UPLOADS UPLOADS Upload",
    "lab.adding": "FileOutcome",
    "lab.browsing": "IndexedDocument PassageSearch indexed_documents parts_of passages_by_document position_of search_passages size_of",
    "lab.corpora": "LabPool corpus_names",
    "lab.lab": "Lab",
    "lab.opening": "builtin_files index_path open_lab",
    "lab.removing": "remove_corpus remove_file",
    "lab.warming": "warm_up",
    "lab.vector_map": "PlacedPassage PlacedQuery VectorMap vector_map",
    "language.highlight": "Segment highlight",
    "language.questions": "MAX_QUESTION check_question question_notice",
    "offline.safety": "SafetyCheck check_safety",
    "pipeline.strategy": "Strategy",
    "pipeline.stream": "Done Event Failed StageFinished StageStarted StoppedEarly Token calls_of collect",
    "privacy.find": "find_private redact",
    "privacy.spans": "PrivateSpan",
    "privacy.words": "kinds_in_words",
    "prompts.prompt": "CONTEXT_PROMPT Template",
    "prompts.templates": "MAX_TEMPLATES custom_template READY_TEMPLATES",
    "seed_api": "format_docs mmr_select process_hybrid_rrf_query process_rewriter_query query_for_evaluation ragas_samples reciprocal_rank_fusion retrieve_hybrid_rrf",
    "stages.messages": "perhaps_you_meant",
    "urgency.helplines": "Helplines countries helplines",
    "urgency.triage": "triage triage_for",
    "urgency.words": "UrgentNotice urgent_notice",
    "runtime.spending": "Payer Spending Visitor paying",
    "values.answers": "Answer Citation Grounded HOW_GROUNDED Remark Suggestion bold_as_html",
    "values.errors": "RagError StageError",
    "values.exchanges": "Exchange",
    "values.orders": "GIVES_ORDERS gives_orders",
    "values.message": "Message",
    "values.model_choice": "OFFLINE_MODEL ModelChoice",
    "values.notice": "NOTICE",
    "values.pricing": "Price PriceList",
    "values.profile": "Profile",
    "values.provenance": "QueryResults SharedPassage results_by_query shared_passages",
    "values.settings": "Settings read_settings",
    "values.sources": "Source age_note age_years is_old listed source_names",
    "values.trace": "Step Trace",
    "values.triage": "Triage",
    "values.types": "Cost Hit ModelCall Passage Query Ranking State Vote by_purpose spent_so_far token_counts",
    "values.visible": "as_cell visible",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
_RENAMED = {
    "READY_TEMPLATES": "READY",
    "source_names": "names",
    "summary_of_fates": "summary",
    "CHUNK_SIZES": "SIZES",
    "CONTEXT_PROMPT": "ENRICH",
    "MAX_UPLOAD": "MAX_FILE",
    "MAX_UPLOADS": "MAX_FILES",
}


def __getattr__(name: str) -> Any:
    """Load a name when first asked for: LlamaIndex and Chroma take seconds, in which Ctrl-C must end a command."""
    if name in _MODULE_OF:
        return getattr(_module(_MODULE_OF[name]), _RENAMED.get(name, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache  # pages ask for hundreds of names a redraw
def _module(name: str) -> ModuleType:
    return importlib.import_module(f".{name}", __name__)
