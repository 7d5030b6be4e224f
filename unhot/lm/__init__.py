"""What all language models share: asking, drawing sentences, mixing."""
