"""What follows from an estimate: where to cut, whether to ship, what labels were worth."""
