"""What belongs to the class of the part *In practice* alone: the checks of its assignment."""
