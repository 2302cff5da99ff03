"""One folder for each chapter, named as its page, and `shared`; no lesson imports another."""
