"""The shared vocabulary: immutable values, traces, settings, prices, label rules and errors."""
