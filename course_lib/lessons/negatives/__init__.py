"""What belongs to the chapter *Negatives, temperature, and what is popular now* of the part In practice alone."""
