"""The loop of an evaluation: ask, tell, estimate, over a journal and its fold."""
