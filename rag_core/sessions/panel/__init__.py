"""A panel: a room of people who judge answers without names, and what their votes say."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
