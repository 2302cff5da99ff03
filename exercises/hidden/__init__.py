"""The hidden checks, one module per assignment. They are never released."""
