"""Typical wrong answers to the assignment one-batch-many-machines."""

from . import Wrong

WRONG = {
    "wrong-median": Wrong(  # takes the median for the nearest point
        answers={
            "nearest": """
def nearest(numbers):
    return Fraction(sorted(numbers)[len(numbers) // 2])
""",
        },
        lost=("test_nearest",),
        message="the median has the least sum of distances that are not squared",
    ),
}
