"""The experiments of the part "In practice", on one scoreboard: recall later in time. No paper prints them.

scoreboard   windows of time, lists of hits, people's recall, what a list shows: what all of them measure
judging      PRACTICE-1: lists without a model and four trainings, by three protocols
serving      PRACTICE-4: what an index loses and whose items, int8 with a certificate, shortened vectors
"""

from course_lib.experiments.practice import judging, serving

__all__ = ["judging", "serving"]
