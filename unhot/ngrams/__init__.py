"""n-gram language models: counting, smoothing, and asking for probabilities."""
