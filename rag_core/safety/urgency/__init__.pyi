from .helplines import UrgentNotice as UrgentNotice
from .helplines import urgent_notice as urgent_notice
from .triage import triage_for as triage_for
