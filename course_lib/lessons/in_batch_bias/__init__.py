"""The chapter book/sampling/in-batch-bias: what an in-batch negative weighs, and how to repair it."""
