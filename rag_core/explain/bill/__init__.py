"""What a result took: seconds, tokens and dollars of every stage, at other prices, and over a month."""

import lazy_loader

# quotes count tokens as the models do, whose code a page without a result does not need
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
