from .triage import triage_for as triage_for
from .words import UrgentNotice as UrgentNotice
from .words import urgent_notice as urgent_notice
