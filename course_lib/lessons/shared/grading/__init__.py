"""The grader's rules: how a notebook is read, run behind walls and checked, for the class and for `hand_in`."""
