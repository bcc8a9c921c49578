from rag_core import stages
from rag_core.llamaindex.nodes import EmbedBy
from rag_core.stages import FusionStage, RerankStage, Retriever, SelectStage, Stage, TransformStage

ABSTRACT = {Stage, FusionStage, RerankStage, SelectStage, TransformStage, Retriever}
STAGE_CLASSES = [
    one
    for one in [*vars(stages).values(), EmbedBy]
    if isinstance(one, type) and issubclass(one, Stage | Retriever) and one not in ABSTRACT
]
