from .find import find_private as find_private
from .find import redact as redact
from .spans import PrivateSpan as PrivateSpan
from .spans import kinds_in_words as kinds_in_words
