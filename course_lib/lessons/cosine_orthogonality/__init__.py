"""The chapter book/geometry/cosine-orthogonality: the gradient of a cosine, and what it does to lengths."""
