"""Private data in a question, found by rules on this machine: nothing is loaded and nothing is sent."""

import lazy_loader

# the rules for telephone and identity numbers are many modules: a page without a question needs none
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
