"""What belongs to the chapter *Serve it from an index* of the part In practice alone."""
