"""The chapter book/start/first-model: a first two-tower model, trained in a second, and what it makes one ask."""
