"""The models that one column of a comparison chose in place of the settings'."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields

from .errors import ConfigError
from .message import Message

OFFLINE_MODEL = "offline"  # chooses the offline engine, in place of a model's name
LONGEST_NAME = 200  # characters of a model's name


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Names of models; an empty one was not chosen. Raises ConfigError for a name that no model could have.

    `model` writes the answers, and plays the roles of the other two unless those are chosen; `OFFLINE_MODEL` is the
    offline engine, as a `reranker`, which scores passages against the question, the offline scorer.

    >>> str(ModelChoice("gpt-4o-mini", judge_model="gpt-4o"))
    'model: gpt-4o-mini, judge: gpt-4o'
    """

    model: str = ""
    rewriter_model: str = ""
    judge_model: str = ""
    # not in the repr, from which fingerprints were made before there was a choice; see `Strategy.fingerprint_on`
    reranker: str = field(default="", repr=False)

    @property
    def offline(self) -> bool:
        """Whether the offline engine was chosen for every role that a language model can have."""
        roles = (self.model, self.rewriter_model or self.model, self.judge_model or self.model)
        return {*roles} == {OFFLINE_MODEL}

    def __post_init__(self) -> None:
        for name, value in self.named.items():
            if not isinstance(value, str) or len(value) > LONGEST_NAME or not value.isprintable():
                raise ConfigError(
                    Message(
                        "{name} must be the name of a model, up to {most} characters.",
                        name=name,
                        most=LONGEST_NAME,
                    ),
                    Message(
                        "Write it as the server does, or {offline!r} for the offline engine.",
                        offline=OFFLINE_MODEL,
                    ),
                )
            object.__setattr__(self, name, value.strip())

    @property
    def named(self) -> Mapping[str, str]:
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name))}

    def check_offered(self, models: Collection[str]) -> None:
        """Raise ConfigError unless every language model is one of these; only the settings name rerankers."""
        for name in (self.model, self.rewriter_model, self.judge_model):
            if name and name not in models:
                raise ConfigError(
                    Message("The model {name!r} is not offered here.", name=name),
                    Message("Choose one of the list; whoever runs the app adds others to RAG_MODELS."),
                )

    def __bool__(self) -> bool:
        return bool(self.named)

    def __str__(self) -> str:
        return ", ".join(f"{role.removesuffix('_model')}: {name}" for role, name in self.named.items())


AS_SET = ModelChoice()  # nothing was chosen: the models of the settings
