"""What the chart decides: as the file says it, and as the rest of the operator reads it."""
