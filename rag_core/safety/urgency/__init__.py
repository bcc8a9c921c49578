"""How urgent a question is, by rules and by its wording, and what passages say of urgent signs: no network or model to load."""

import lazy_loader

# a page without a question needs neither the learned wording nor the rules that tell whom a question is about
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
