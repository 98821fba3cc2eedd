"""Labelling inside a notebook: the cards of the page as a widget."""
