"""The compiled functions from which training is built."""
