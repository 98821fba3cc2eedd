"""Which of several systems is better, and by how much."""
