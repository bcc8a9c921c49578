"""Work in the background: measuring, uploading, indexing anew; started, watched, confirmed and stopped."""

from .job import Job, JobKind, Jobs, RunningMean, Status
from .starting import start_adding, start_reindexing, start_run, start_sweep
