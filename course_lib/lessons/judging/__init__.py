"""What belongs to the chapter *Judge a recommender* of the part In practice alone."""
