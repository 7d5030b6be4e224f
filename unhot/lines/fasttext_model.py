"""Open the classifiers of fastText's files, .bin and .ftz, to predict labels with them."""

from pathlib import Path

import numpy as np

from unhot.errors import ConfigError
from unhot.lines.fasttext_losses import FastTextScorer
from unhot.lines.line_rows import LABEL
from unhot.lines.line_sums import LineModel
from unhot.lines.predictor import LinePredictor
from unhot.vectors.formats.fasttext import read_fasttext
from unhot.vectors.formats.fasttext.model_file import matrix_rows


def fasttext_predictor(path: Path, threads: int) -> tuple[LinePredictor, list[str]]:
    """Return what predicts the labels of a fastText file, and its labels, without their prefix."""
    file = read_fasttext(path)
    if not file.header.supervised:
        raise ConfigError(f"{path}: this fastText file holds word vectors, not a classifier")
    words, counts = file.dictionary.words, file.dictionary.label_counts
    output = matrix_rows(file.output_matrix, np.arange(counts.size))
    scorer = FastTextScorer(file.header.loss, output, counts)
    no_weights = np.zeros(0, np.float32)
    model = LineModel(words, file.rows(), no_weights, file.header.word_ngrams, False, 1.0, LABEL)
    labels = [label.removeprefix(LABEL) for label in file.dictionary.labels]
    return LinePredictor(model, scorer, threads=threads), labels
