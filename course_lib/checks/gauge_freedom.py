"""Public checks."""
