"""Training of GloVe: cells in blocks, and the step over them."""
