"""The chapter book/geometry/popularity-norm-coupling: how popular items grow long."""
