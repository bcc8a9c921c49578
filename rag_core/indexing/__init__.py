"""Building searchable indexes from documents, incrementally and crash-safe."""

from .build import CorpusStore, Report, chunked
from .cutting import Chunking
from .enrich import CACHE as CONTEXTS
from .enrich import (
    Enricher,
    EnrichmentEstimate,
    LlmEnricher,
    OfflineEnricher,
    context_template,
    write_questions,
)
from .folder import was_noted
from .forgetting import find_documents, find_file, find_forgettable, forget_corpus, forget_documents
from .readers import SourceFiles, cut_by, read_given, read_path, state_of
from .store import CorpusIndex
from .stores import stores_of, words_only
from .uploads import UPLOADS, Upload, UploadFolder, clear_staged, why_refused
from .vectors import LanguageText, VectorCache, keep_vectors, read_shipped, stored_vectors, text_key
from .write_report import Progress, WriteReport, no_progress
