"""What belongs to the chapter *New films* of the part In practice alone."""
