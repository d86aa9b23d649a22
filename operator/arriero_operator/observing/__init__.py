"""What is there: a model and its pods, from the cache, and by asking those who know more."""
