"""The graded course: the assignments, and the tools that grade them (see README.md)."""
