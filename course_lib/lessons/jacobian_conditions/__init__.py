"""The chapter book/geometry/jacobian-conditions: which towers and optimisers let embeddings move tangentially."""
