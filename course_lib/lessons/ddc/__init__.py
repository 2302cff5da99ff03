"""The chapter book/debiasing/ddc: directional decomposition and correction, and what its scalars do."""
