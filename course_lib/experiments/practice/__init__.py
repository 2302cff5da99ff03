"""Our experiments for the part "In practice". No paper prints them.

negatives  PRACTICE-2: losses and temperatures, served with and without today's hits, later in time
"""

from course_lib.experiments.practice import negatives

__all__ = ["negatives"]
