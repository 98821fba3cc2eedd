"""The addresses of the labelling page, by what they are for."""
