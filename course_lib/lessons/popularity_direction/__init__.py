"""The chapter book/debiasing/popularity-direction: the axis of popularity, and how it comes about."""
