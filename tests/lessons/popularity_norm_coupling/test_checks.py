"""The checks of the assignment on norms: messages that fit, and the numbers that its solutions quote."""

from in_process import functions
from sample_essays import printed, unaccounted

from course_lib.lessons.popularity_norm_coupling import checks
from exercises.engine import simulate

# One wrong cell for each check that no typical wrong submission loses.
SPOILT = {"test_slope": "def popularity_slope(counts, norms):\n    return float(np.polyfit(counts, norms, 1)[0])"}


MESSAGES = [
    ("update_plain", lambda c, t, b, e, n: 1 - (1 - 1 / 4) ** 2, "no floats"),
    ("rare", lambda: ([1, 0], 1.0, [[0, 1]] * 3, [[1, 1]] * 29), "ten times as many"),
    ("rare", lambda: ([1, 0], 1.0, [[0, 0]], [[1, 1]] * 29), "no direction"),
    ("largest", lambda *a: None, "does become larger"),
    ("largest", lambda c, b, s, q, h, r: 1.0 if r > 5 else 0.0, "is not right|return None"),
]


def test_the_essay_on_norms_quotes_the_slopes() -> None:
    predicted = functions(simulate.reference("popularity-norm-coupling"))["predicted_slope"]
    counts = checks.film_counts()
    assert predicted(counts, 512, 3000, 100, 1, 1e-3) > 0.1
    assert predicted(counts, 512, 3000, 0.01, 1, 1e-3) < 0.001
    slopes = {lr: predicted(counts, 512, 3000, lr, 1, 1e-3) for lr in (0.01, 1, 10, 100)}
    low, high, page = f"{slopes[0.01]:.5f}", f"{slopes[100]:.3f}", printed("popularity-norm-coupling")
    assert not unaccounted(
        "popularity-norm-coupling",
        f"{high} at learning rate 100 and {low} at 0.01",
        f"{low} at rate 0.01 against {high} at rate 100",
        f"{low}, {slopes[1]:.3f}, {slopes[10]:.3f} and {high} at rates 0.01, 1, 10 and 100",
        f"{100 * 0.7**2:.0f} % of the variance",
        f"{10 / 0.1:.0f} times smaller we need {10 / 0.1:.0f} times as many steps",
        f"{(10 / 0.1) ** 2:,.0f} times smaller",
        f"{page['consistent-1000']} after 1,000 updates",
        f"{page['conflicting-100']} after 100",
        f"{page['break-decay']} with it and {page['break-none']} without it on MovieLens-1M",
        f"{page['chance-ml1m']} of the places on MovieLens-1M",
        f"on MovieLens-1M, where lists leave out known films, chance is {page['chance-ml1m']}",
        f"keep {page['e8-logq-share-cos']} of the places by cosine",
        f"of {page['slow-slope']} and a loss of {page['way-loss-slow']}, against {page['way-loss-10']} at rate 10",
    )
