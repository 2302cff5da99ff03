"""What the page book/sampling/one-batch-many-machines.ipynb alone needs."""
