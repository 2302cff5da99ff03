"""What the chapters of the two-tower course import: one room per concept.

Nothing is imported here, so that ``import course_lib`` takes no time and no torch. Import the room you
need: ``from course_lib import in_batch``.
"""

__version__ = "0.1.0"
