"""Vector code: what the training step, and everything else that is compiled, is built from."""
