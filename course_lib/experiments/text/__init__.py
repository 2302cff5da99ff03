"""Our experiments on a text encoder as a tower. No paper prints them.

titles    TEXT-X1: what normalised text vectors show, by the audit of film titles under all-MiniLM-L6-v2
unrated   TEXT-X2: a tower on features against a table, on films whose ratings were all held out
encoders  what turns titles into vectors, and the data
"""

from course_lib.experiments.text import titles, unrated

__all__ = ["titles", "unrated"]
