"""Questions kept and found again; saved sessions, run again or exported."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
