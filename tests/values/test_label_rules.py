"""Which scores label rules can label."""

from pathlib import Path

import pytest

from rag_core.models.minilm import MINILM_WEIGHTS
from rag_core.values.labels import LabelRules

DATA = Path(__file__).resolve().parents[2] / "data"


class TestLabelsOfAScorersModel:
    ROW = "high = 0.8\nmedium = 0.4\nanswered = { High = 1, Medium = 0.5, Low = 0 }\nrelated = { High = 0, Medium = 0.5, Low = 0 }\nshown = { High = 1, Medium = 2, Low = 3 }"

    @pytest.fixture
    def rules(self, tmp_path: Path) -> LabelRules:
        path = tmp_path / "labels.toml"
        path.write_text(f'[cosine."minilm-1".en]\n{self.ROW}\n[judge."strict".en]\n{self.ROW}\n')
        return LabelRules.read(path)

    @pytest.mark.parametrize(
        ("scorer", "model", "known"),
        [
            ("cosine", "minilm-1", True),
            ("cosine", "minilm-2", False),
            ("cosine", "", False),
            ("judge", "strict", True),
            ("offline_scorer", "offline-scorer", False),
            ("cross_encoder", "some/model", False),
        ],
    )
    def test_thresholds_hold_for_the_model_they_were_fitted_on(self, rules, scorer, model, known):
        assert rules.has(scorer, model) is known
        if known:
            found = rules.relevance(scorer, [0.9, 0.5, 0.1], "en", model)
            assert [row.label for row in found] == ["High", "Medium", "Low"]
            assert rules.relevance(scorer, [0.9], "fr", model)[0].label == "High"
        else:
            with pytest.raises(ValueError, match="no thresholds"):
                rules.relevance(scorer, [0.9], "en", model)

    def test_the_repository_labels_the_offline_measure_and_the_bundled_models_cosine_alone(self):
        rules = LabelRules.read(DATA / "labels.toml")
        assert rules.has("offline_scorer", "offline-scorer")
        assert rules.has("offline_scorer", "offline-scorer+questions")
        assert rules.has("cosine", f"{MINILM_WEIGHTS}+gloss")
        for other in ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2-00000000", "text-embedding-3-small"):
            assert not rules.has("cosine", other)
        assert not rules.has("cross_encoder", "mixedbread-ai/mxbai-rerank-large-v1")
        (relevance,) = rules.relevance("offline_scorer", [0.99], "es", "offline-scorer")
        assert relevance.rule.startswith(
            "High: estimated chance of answering 0.99, at least 0.51. Of 167 passages with this label"
        )
