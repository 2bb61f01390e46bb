"""Whether an answer survives, and how much of its evidence."""
