"""The experiments of the part "In practice", on one scoreboard: recall later in time. No paper prints them.

scoreboard   windows of time, lists of hits, people's recall, what a list shows: what all of them measure
judging      PRACTICE-1: lists without a model and four trainings, by three protocols
negatives    PRACTICE-2: losses and temperatures, served with and without today's hits; _verdicts: its predictions
new_films    PRACTICE-3: films that nobody has rated yet: towers on features, lists, a prior of the ratings to come
serving      PRACTICE-4: what an index loses and whose items, int8 with a certificate, shortened vectors
batches      PRACTICE-5: three sizes of a batch, each with its own temperature, learning rate and stop
popularity_held  PRACTICE-6: how much of popularity the cosines hold, with three losses at four temperatures
sigmoid      PRACTICE-7: what the one bias of the sigmoid loss learns, and two repairs of what it leaves
"""

from course_lib.experiments.practice import batches, judging, negatives, new_films, popularity_held, serving, sigmoid

__all__ = ["batches", "judging", "negatives", "new_films", "popularity_held", "serving", "sigmoid"]
