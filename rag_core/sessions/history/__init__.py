"""The questions that were asked, kept with all they led to: found again, opened again without a call, deleted."""
