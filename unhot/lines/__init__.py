"""Lines of text as bags of rows: words, runs of words, character n-grams; and the labels that lines get."""
