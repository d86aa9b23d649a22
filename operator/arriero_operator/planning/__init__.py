"""From what was found to a plan: the decisions (`decide`) with the look-ups and the memory that they need."""
