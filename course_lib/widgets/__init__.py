"""Interactives that run in Jupyter, in Colab, and on the static page without a kernel.

One ES module per interactive, written once. In a notebook it is an anywidget: move a slider and Python sees it. On the
website `static_files()` gives one classic script with what they share and a small host, and one more for each
interactive (`names_for` says which a page needs); what stands in the page until then (and stays where JavaScript is
off) is a picture, a text and a table made by Python.

    from course_lib import widgets
    widgets.InBatchWeights([[0, 1], [1, 1]], batch_size=2, kind="in_batch")
"""

from .base import CourseWidget
from .bundle import names_for, static_files
from .cosine_motion import CosineMotion
from .folding import Folding
from .gramian_tracker import GramianTracker
from .in_batch_weights import FIG2_LABELS, InBatchWeights
from .norm_growth import NormGrowth
from .popularity_axis import PopularityAxis
from .quiz import Quiz
from .stretched_axes import StretchedAxes
from .tower_motion import TowerMotion
from .two_scalars import TwoScalars

__all__ = [
    "FIG2_LABELS",
    "CosineMotion",
    "CourseWidget",
    "Folding",
    "GramianTracker",
    "InBatchWeights",
    "NormGrowth",
    "PopularityAxis",
    "Quiz",
    "StretchedAxes",
    "TowerMotion",
    "TwoScalars",
    "names_for",
    "static_files",
]
