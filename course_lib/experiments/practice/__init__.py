"""The experiments of the part In practice. No paper prints them.

new_films  PRACTICE-3: films that nobody has rated yet, in time: towers on features, lists, and a prior of their ratings
"""

from course_lib.experiments.practice import new_films

__all__ = ["new_films"]
