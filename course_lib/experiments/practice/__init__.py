"""The experiments of the part "In practice". No paper prints them.

serving  PRACTICE-4: what an index loses and whose films, int8 with a certificate, shortened vectors
"""

from course_lib.experiments.practice import serving

__all__ = ["serving"]
