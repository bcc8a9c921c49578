from collections.abc import Iterator

import pytest
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers.base import BaseEventHandler


class Heard(BaseEventHandler):
    events: list = []  # noqa: RUF012  # a pydantic field

    @classmethod
    def class_name(cls) -> str:
        return "Heard"

    def handle(self, event, **kwargs) -> None:
        self.events.append(event)

    @property
    def names(self) -> list[str]:
        return [event.class_name() for event in self.events]

    def of(self, name: str) -> list:
        return [event for event in self.events if event.class_name() == name]


@pytest.fixture
def heard() -> Iterator[Heard]:
    """The events of LlamaIndex's instrumentation."""
    root = get_dispatcher()
    handler = Heard(events=[])
    root.add_event_handler(handler)
    yield handler
    root.event_handlers.remove(handler)
