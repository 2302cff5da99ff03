"""nbgrader's settings for this course; `nbgrader` commands that are started in this folder read it.

The folder of a class elsewhere has a small file of the same name, which takes them over.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import nbgrader
from nbconvert.preprocessors import ClearMetadataPreprocessor
from nbgrader.preprocessors import AssignLatePenalties, CheckCellMetadata, IgnorePattern, LimitOutput, SaveAutoGrades

from course_lib.lessons.shared.grading.notebooks import CODE_STUB, TEXT_STUB
from exercises.engine.grading import preprocessors as own
from exercises.engine.grading.harmless import markdown2html

HERE = Path(__file__).resolve().parent

c = globals()["get_config"]()  # traitlets puts it among the names of this file
c.CourseDirectory.course_id = "two-tower-course"
c.CourseDirectory.root = str(HERE)
c.CourseDirectory.submitted_directory = "counted"  # what the classroom writes; what came is in submissions.db
c.ExchangeFactory.collect = own.Collect
c.ClearSolutions.code_stub = {"python": CODE_STUB}
c.ClearSolutions.text_stub = TEXT_STUB

# A student's code never runs in nbgrader's process or in a kernel: README.md, "How hostile submissions are held off".
c.Autograde.sanitize_preprocessors.prepend([own.Rebuild])
c.Autograde.autograde_preprocessors = [
    own.Judge,
    IgnorePattern,
    ClearMetadataPreprocessor,
    LimitOutput,
    SaveAutoGrades,
    AssignLatePenalties,
    CheckCellMetadata,
]
c.GenerateAssignment.preprocessors.prepend([own.NameGrader])
c.GenerateAssignment.preprocessors.append(own.Carry)
c.ClearMetadataPreprocessor.preserve_nb_metadata_mask = {("language_info", "name"), "graded_with", "receipt"}
c.OverwriteCells.add_missing_cells = True
c.GenerateFeedback.preprocessors = [own.GetGradesAndWaiting]
# Our page of feedback, and formgrader's own pages, which it finds only here where the class lies in this folder.
c.HTMLExporter.extra_template_basedirs = [
    str(HERE / "engine" / "grading" / "pages"),
    str(Path(nbgrader.__file__).parent / "server_extensions" / "formgrader" / "templates"),
]
c.HTMLExporter.preprocessors = [own.ShowRubric]  # beside a text, for who grades it by hand
c.HTMLExporter.filters = {"markdown2html": markdown2html}  # a student's Markdown may hold scripts
