"""The experiments of the part "In practice", on one scoreboard: recall later in time. No paper prints them.

scoreboard   windows of time, lists of hits, people's recall, what a list shows: what all of them measure
judging      PRACTICE-1: lists without a model and four trainings, by three protocols
new_films    PRACTICE-3: films that nobody has rated yet: towers on features, lists, a prior of the ratings to come
"""

from course_lib.experiments.practice import judging, new_films

__all__ = ["judging", "new_films"]
