"""An exam: which strategy works on an owner's documents, by questions, and by people who tick which passages answer."""

from .exam import ANSWERS as ANSWERS
from .exam import HARM_CHARACTERS as HARM_CHARACTERS
from .exam import Draft as Draft
from .exam import Exam as Exam
from .exam import ExamQuestion as ExamQuestion
from .exam import Tick as Tick
from .exam import agreement as agreement
from .exam import disputed as disputed
from .exam import grades as grades
from .exam import read_drafts as read_drafts
from .folder import Standing as Standing
from .folder import export as export
from .pooling import left_to_pool as left_to_pool
from .pooling import pool as pool
from .store import Exams as Exams
