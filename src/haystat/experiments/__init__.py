"""Experiments on pools with known labels: simulate, bench, and the paper's own."""
