"""The public names, in one list: what `rag_core` loads from where when a name is first asked for."""

from .catalog import (
    RECIPES as RECIPES,
)
from .catalog import (
    Choice as Choice,
)
from .catalog import (
    Control as Control,
)
from .catalog import (
    Number as Number,
)
from .catalog import (
    Preset as Preset,
)
from .catalog import (
    PromptText as PromptText,
)
from .catalog import (
    Recipe as Recipe,
)
from .catalog import (
    StrategySpec as StrategySpec,
)
from .catalog import (
    Switch as Switch,
)
from .catalog import (
    Templates as Templates,
)
from .catalog import (
    Weights as Weights,
)
from .catalog import (
    build as build,
)
from .catalog import (
    describe as describe,
)
from .catalog import (
    describe_changes as describe_changes,
)
from .catalog import (
    format_value as format_value,
)
from .catalog import (
    register as register,
)
from .catalog import (
    unregister as unregister,
)
from .catalog.address import (
    Configuration as Configuration,
)
from .catalog.address import (
    from_address as from_address,
)
from .catalog.address import (
    to_address as to_address,
)
from .catalog.outline import (
    OutlinedStage as OutlinedStage,
)
from .catalog.outline import (
    outline as outline,
)
from .catalog.setup import (
    Setup as Setup,
)
from .catalog.setup import (
    SetupSpec as SetupSpec,
)
from .catalog.setup import (
    set_up as set_up,
)
from .catalog.setup import (
    titles_of as titles_of,
)
from .documents.documents import (
    BUILTIN as BUILTIN,
)
from .documents.documents import (
    Document as Document,
)
from .documents.documents import (
    builtin_documents as builtin_documents,
)
from .documents.documents import (
    builtin_profile as builtin_profile,
)
from .explain import (
    ControlTips as ControlTips,
)
from .explain import (
    Fate as Fate,
)
from .explain import (
    FlowColumn as FlowColumn,
)
from .explain import (
    Lane as Lane,
)
from .explain import (
    Missed as Missed,
)
from .explain import (
    Move as Move,
)
from .explain import (
    Part as Part,
)
from .explain import (
    Place as Place,
)
from .explain import (
    RankChange as RankChange,
)
from .explain import (
    ScoreLine as ScoreLine,
)
from .explain import (
    SentenceChange as SentenceChange,
)
from .explain import (
    TippingPoint as TippingPoint,
)
from .explain import (
    Tuner as Tuner,
)
from .explain import (
    WhyNot as WhyNot,
)
from .explain import (
    Work as Work,
)
from .explain import (
    answer_changes as answer_changes,
)
from .explain import (
    decompose as decompose,
)
from .explain import (
    fates as fates,
)
from .explain import (
    flow_columns as flow_columns,
)
from .explain import (
    lanes as lanes,
)
from .explain import (
    query_title as query_title,
)
from .explain import (
    query_weights as query_weights,
)
from .explain import (
    rank_changes as rank_changes,
)
from .explain import (
    stage_title as stage_title,
)
from .explain import (
    summary_of_fates as summary_of_fates,
)
from .explain import (
    tipping_points as tipping_points,
)
from .explain.bill import (
    TYPED as TYPED,
)
from .explain.bill import (
    Bill as Bill,
)
from .explain.bill import (
    BillLine as BillLine,
)
from .explain.bill import (
    Projection as Projection,
)
from .explain.bill import (
    Quote as Quote,
)
from .explain.bill import (
    Span as Span,
)
from .explain.bill import (
    bill_of as bill_of,
)
from .explain.bill import (
    cost_at as cost_at,
)
from .explain.bill import (
    of_offline_engine as of_offline_engine,
)
from .explain.bill import (
    project as project,
)
from .explain.bill import (
    quotes as quotes,
)
from .explain.bill import (
    spans as spans,
)
from .explain.bill import (
    texts_of as texts_of,
)
from .indexing.chunking import (
    CHUNK_SIZES as CHUNK_SIZES,
)
from .indexing.chunking import (
    Chunking as Chunking,
)
from .indexing.store import (
    CorpusIndex as CorpusIndex,
)
from .indexing.uploads import (
    MAX_UPLOAD as MAX_UPLOAD,
)
from .indexing.uploads import (
    MAX_UPLOADS as MAX_UPLOADS,
)
from .indexing.uploads import (
    UPLOADS as UPLOADS,
)
from .indexing.uploads import (
    Upload as Upload,
)
from .lab.adding import (
    FileOutcome as FileOutcome,
)
from .lab.browsing import (
    IndexedDocument as IndexedDocument,
)
from .lab.browsing import (
    PassageSearch as PassageSearch,
)
from .lab.browsing import (
    indexed_documents as indexed_documents,
)
from .lab.browsing import (
    parts_of as parts_of,
)
from .lab.browsing import (
    passages_by_document as passages_by_document,
)
from .lab.browsing import (
    position_of as position_of,
)
from .lab.browsing import (
    search_passages as search_passages,
)
from .lab.browsing import (
    size_of as size_of,
)
from .lab.corpora import (
    LabPool as LabPool,
)
from .lab.corpora import (
    corpus_names as corpus_names,
)
from .lab.lab import (
    Lab as Lab,
)
from .lab.opening import (
    builtin_files as builtin_files,
)
from .lab.opening import (
    index_path as index_path,
)
from .lab.opening import (
    open_lab as open_lab,
)
from .lab.removing import (
    remove_corpus as remove_corpus,
)
from .lab.removing import (
    remove_file as remove_file,
)
from .lab.vector_map import (
    PlacedPassage as PlacedPassage,
)
from .lab.vector_map import (
    PlacedQuery as PlacedQuery,
)
from .lab.vector_map import (
    VectorMap as VectorMap,
)
from .lab.vector_map import (
    vector_map as vector_map,
)
from .lab.warming import (
    warm_up as warm_up,
)
from .language.highlight import (
    Segment as Segment,
)
from .language.highlight import (
    highlight as highlight,
)
from .language.questions import (
    MAX_QUESTION as MAX_QUESTION,
)
from .language.questions import (
    check_question as check_question,
)
from .language.questions import (
    question_notice as question_notice,
)
from .offline.safety import (
    SafetyCheck as SafetyCheck,
)
from .offline.safety import (
    check_safety as check_safety,
)
from .pipeline.strategy import (
    Strategy as Strategy,
)
from .pipeline.stream import (
    Done as Done,
)
from .pipeline.stream import (
    Event as Event,
)
from .pipeline.stream import (
    Failed as Failed,
)
from .pipeline.stream import (
    StageFinished as StageFinished,
)
from .pipeline.stream import (
    StageStarted as StageStarted,
)
from .pipeline.stream import (
    StoppedEarly as StoppedEarly,
)
from .pipeline.stream import (
    Token as Token,
)
from .pipeline.stream import (
    calls_of as calls_of,
)
from .pipeline.stream import (
    collect as collect,
)
from .prompts.prompt import (
    CONTEXT_PROMPT as CONTEXT_PROMPT,
)
from .prompts.prompt import (
    Template as Template,
)
from .prompts.templates import (
    MAX_TEMPLATES as MAX_TEMPLATES,
)
from .prompts.templates import (
    READY_TEMPLATES as READY_TEMPLATES,
)
from .prompts.templates import (
    custom_template as custom_template,
)
from .runtime.spending import (
    Payer as Payer,
)
from .runtime.spending import (
    Spending as Spending,
)
from .runtime.spending import (
    Visitor as Visitor,
)
from .runtime.spending import (
    paying as paying,
)
from .safety.privacy.find import (
    find_private as find_private,
)
from .safety.privacy.find import (
    redact as redact,
)
from .safety.privacy.spans import (
    PrivateSpan as PrivateSpan,
)
from .safety.privacy.words import (
    kinds_in_words as kinds_in_words,
)
from .safety.urgency.helplines import (
    Helplines as Helplines,
)
from .safety.urgency.helplines import (
    countries as countries,
)
from .safety.urgency.helplines import (
    helplines as helplines,
)
from .safety.urgency.triage import (
    triage as triage,
)
from .safety.urgency.triage import (
    triage_for as triage_for,
)
from .safety.urgency.words import (
    UrgentNotice as UrgentNotice,
)
from .safety.urgency.words import (
    urgent_notice as urgent_notice,
)
from .seed_api import (
    format_docs as format_docs,
)
from .seed_api import (
    mmr_select as mmr_select,
)
from .seed_api import (
    process_hybrid_rrf_query as process_hybrid_rrf_query,
)
from .seed_api import (
    process_rewriter_query as process_rewriter_query,
)
from .seed_api import (
    query_for_evaluation as query_for_evaluation,
)
from .seed_api import (
    ragas_samples as ragas_samples,
)
from .seed_api import (
    reciprocal_rank_fusion as reciprocal_rank_fusion,
)
from .seed_api import (
    retrieve_hybrid_rrf as retrieve_hybrid_rrf,
)
from .stages.messages import (
    perhaps_you_meant as perhaps_you_meant,
)
from .values.answers import (
    HOW_GROUNDED as HOW_GROUNDED,
)
from .values.answers import (
    Answer as Answer,
)
from .values.answers import (
    Citation as Citation,
)
from .values.answers import (
    Grounded as Grounded,
)
from .values.answers import (
    Remark as Remark,
)
from .values.answers import (
    Suggestion as Suggestion,
)
from .values.answers import (
    bold_as_html as bold_as_html,
)
from .values.errors import (
    RagError as RagError,
)
from .values.errors import (
    StageError as StageError,
)
from .values.exchanges import (
    Exchange as Exchange,
)
from .values.message import (
    Message as Message,
)
from .values.model_choice import (
    OFFLINE_MODEL as OFFLINE_MODEL,
)
from .values.model_choice import (
    ModelChoice as ModelChoice,
)
from .values.notice import (
    NOTICE as NOTICE,
)
from .values.orders import (
    GIVES_ORDERS as GIVES_ORDERS,
)
from .values.orders import (
    gives_orders as gives_orders,
)
from .values.pricing import (
    Price as Price,
)
from .values.pricing import (
    PriceList as PriceList,
)
from .values.profile import (
    Profile as Profile,
)
from .values.provenance import (
    QueryResults as QueryResults,
)
from .values.provenance import (
    SharedPassage as SharedPassage,
)
from .values.provenance import (
    only_in as only_in,
)
from .values.provenance import (
    results_by_query as results_by_query,
)
from .values.provenance import (
    shared_passages as shared_passages,
)
from .values.settings import (
    Settings as Settings,
)
from .values.settings import (
    read_settings as read_settings,
)
from .values.sources import (
    Source as Source,
)
from .values.sources import (
    age_note as age_note,
)
from .values.sources import (
    age_years as age_years,
)
from .values.sources import (
    is_old as is_old,
)
from .values.sources import (
    source_names as source_names,
)
from .values.trace import (
    Step as Step,
)
from .values.trace import (
    Trace as Trace,
)
from .values.triage import (
    Triage as Triage,
)
from .values.types import (
    Cost as Cost,
)
from .values.types import (
    Hit as Hit,
)
from .values.types import (
    ModelCall as ModelCall,
)
from .values.types import (
    Passage as Passage,
)
from .values.types import (
    Query as Query,
)
from .values.types import (
    Ranking as Ranking,
)
from .values.types import (
    State as State,
)
from .values.types import (
    Vote as Vote,
)
from .values.types import (
    by_purpose as by_purpose,
)
from .values.types import (
    spent_so_far as spent_so_far,
)
from .values.types import (
    token_counts as token_counts,
)
from .values.visible import (
    as_cell as as_cell,
)
from .values.visible import (
    visible as visible,
)
