"""How urgent a question is, by rules and by its wording, and what passages say of urgent signs: no network or model to load."""

import lazy_loader

# the wording that was learned and the rules for whom a question is about: a page without a question needs neither
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
