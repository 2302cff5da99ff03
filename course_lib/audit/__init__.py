"""Audit a trained two-tower model: what the course's theorems say about its tables, each verdict with its support.

    report = audit(items, users, pairs=train, held_out=test, rng=numpy.random.default_rng(0))
    report                           # in a notebook: the page
    report.headline                  # one sentence
    report.actions                   # at most five: .title, .why, .decision, .code, .gain
    report.ids("fault")              # ["popularity-lengths", ...]; "noted" is what is so, and no fault by itself
    report["hubs"].support           # a sentence; .figures, .advice
    report.baselines                 # what the most popular items and random ones have on the same users
    report.cosines.text()            # what cosines between items mean

    changes = compare(old_items, new_items, rng=...)   # two snapshots: course_lib.audit.snapshots

Command line: ``two-tower-audit --items ITEMS [--users USERS] [--pairs PAIRS] [--held-out PAIRS] [--out report.html]``,
or ``python -m course_lib audit ITEMS.npy ...``. Formats: `course_lib.audit.files`; JSON: `course_lib.audit.report`.
"""

from course_lib.audit.actions import Action as Action
from course_lib.audit.command import cli as cli
from course_lib.audit.command import report_of as report_of
from course_lib.audit.cosines import Cosines as Cosines
from course_lib.audit.cosines import TableFacts as TableFacts
from course_lib.audit.files import read_table as read_table
from course_lib.audit.pairs import read_pairs as read_pairs
from course_lib.audit.report import Report as Report
from course_lib.audit.report import audit as audit
from course_lib.audit.snapshots import Comparison as Comparison
from course_lib.audit.snapshots import compare as compare
from course_lib.audit.snapshots.rows import Snapshot as Snapshot
from course_lib.audit.tables import Table as Table
from course_lib.audit.training import Training as Training
from course_lib.audit.verdicts import CATALOGUE as CATALOGUE
from course_lib.audit.verdicts import CHANGES as CHANGES
from course_lib.audit.verdicts import FURTHER as FURTHER
from course_lib.audit.verdicts import Verdict as Verdict
