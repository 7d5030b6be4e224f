"""Vector code, from which the training step and the other compiled functions are built."""
