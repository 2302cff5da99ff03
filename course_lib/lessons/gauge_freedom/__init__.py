"""The chapter book/geometry/gauge-freedom: what scores leave free, and when cosine similarity means something."""
