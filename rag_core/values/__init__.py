"""What everything else speaks in: immutable values, traces, settings, prices, label rules, errors."""
