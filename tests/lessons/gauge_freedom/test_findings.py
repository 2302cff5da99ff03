"""The findings on the page's own models, on numbers whose answer is known."""

from __future__ import annotations

from course_lib.lessons.gauge_freedom import findings as about

CASES = [
    (about.models_name_other_films, ([[1, 2], [3, 4], [5, 6]],), ([[1, 2], [3, 4], [2, 6]],)),
    # the interval reaches 50
    (about.hundred_gauges_keep_less_than_half, ([40.0, 44.0, 42.0],), ([40.0, 90.0, 42.0],)),
    (about.sign_codes_lose_neighbours, ([80.0, 84.0, 82.0],), ([100.0, 100.0, 100.0],)),
    (about.few_rows_are_nearly_free, ([60.0, 64.0, 62.0], 99.0), ([60.0, 64.0, 62.0], 61.0)),
    (about.more_rows_hold_firmer, ({"10": [60.0, 64.0], "20": [80.0, 84.0]},), ({"10": [80.0], "20": [60.0]},)),
    (about.films_are_firmer_than_few_rows, (0.03, [0.001, 0.002]), (0.03, [0.001, 0.04])),
]
