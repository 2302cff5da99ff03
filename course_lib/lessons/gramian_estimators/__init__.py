"""The chapter book/sampling/gramian-estimators: all pairs at the price of a batch."""
