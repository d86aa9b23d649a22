"""What the operator last saw of its objects. Watches and the answers to its own writes put it in, rounds read it."""
