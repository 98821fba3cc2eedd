"""What is sampled from: items, strata, tree, cells."""
