"""Work in the background: measuring, uploading, indexing anew; started, watched, confirmed and stopped."""

from .adding import start_adding, start_reindexing
from .job import Job, JobKind, Jobs, RunningMean, Status
from .measuring import start_run, start_sweep
