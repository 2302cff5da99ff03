"""P0's experiments.

motion      0 to 7: in which towers, losses and optimisers does an embedding move at right angles to itself?
popularity  8 to 10, and remedies: how long popular items grow, and what that does to lists
tuned       beside the remedies: a cosine that is tuned
"""

from course_lib.experiments.p0 import motion, popularity, tuned

__all__ = ["motion", "popularity", "tuned"]
