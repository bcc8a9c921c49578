"""What several tests use."""

import rag_core  # noqa: F401  # before numpy, whose threads it settles
