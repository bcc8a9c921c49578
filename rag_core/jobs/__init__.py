"""Work in the background: measuring, pooling for an exam, uploading, indexing anew; started, watched, confirmed and stopped."""

from .job import Job, JobKind, Jobs, RunningMean, Status
from .starting import start_adding, start_drafting, start_pooling, start_reindexing, start_run, start_sweep
