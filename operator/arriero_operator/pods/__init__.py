"""What is known of one pod, read from its JSON. Pure: decisions and diagnosis work on it."""
