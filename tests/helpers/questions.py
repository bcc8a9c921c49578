"""Questions made of the collection's words, and settings of a strategy, at random but always the same."""

import random

from rag_core.catalog import Choice, Control, Number, PromptText, Recipe, Switch, Templates, Weights

from .fakes import DOES, WHO

_WORDS = sorted({word for text in (*WHO, *DOES) for word in text.lower().split()})


def random_questions(count: int) -> list[str]:
    """Questions of 1 to 8 words of the collection `fakes.MANY`."""
    chosen = random.Random(16)
    return [" ".join(chosen.choices(_WORDS, k=chosen.randint(1, 8))) + "?" for _ in range(count)]


def random_values(recipe: Recipe, chosen: random.Random) -> dict[str, object]:
    """A value for about half of a strategy's controls."""
    return {control.name: random_value(control, chosen) for control in recipe.controls if chosen.random() < 0.5}


def random_value(control: Control, chosen: random.Random) -> object:
    """A valid value of any control; numbers of passages are mostly small, so that something is cut."""
    match control:
        case Number(whole=True):
            return chosen.choice([size for size in (1, 2, 3, 5, 8, 13, 40) if size <= control.max])
        case Number():
            return round(chosen.uniform(max(control.min, 0.01), control.max), 3)
        case Switch():
            return chosen.random() < 0.5
        case Choice():
            return chosen.choice(control.choices)
        case Weights():
            return [round(chosen.uniform(0.1, control.max), 2) for _ in range(3)]
        case Templates() | PromptText():
            return control.default
    raise TypeError(type(control))
