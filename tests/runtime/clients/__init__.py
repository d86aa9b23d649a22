"""Real clients against a live server with the real engine."""
