"""Score vectors of any tool with gensim's evaluators, in percent.

Analogies: accuracy among the 30,000 most frequent words, questions with other words left out. Word pairs:
Spearman's rank correlation.
"""

from __future__ import annotations

import json
import sys

import fasttext
from gensim.models import KeyedVectors

job = json.loads(sys.argv[1])
if job["format"] == "fasttext":
    model = fasttext.load_model(job["vectors"])
    words, matrix = model.get_words(), model.get_input_matrix()
    kept = [i for i, word in enumerate(words) if word != "</s>"]
    vectors = KeyedVectors(matrix.shape[1])
    vectors.add_vectors([words[i] for i in kept], matrix[kept])
else:
    vectors = KeyedVectors.load_word2vec_format(job["vectors"], binary=True)

scores = {}
if job["analogies"]:
    scores["analogies"] = 100 * vectors.evaluate_word_analogies(job["analogies"], restrict_vocab=30000)[0]
for name in ("wordsim", "simlex"):
    if job[name]:
        # delimiter None: tabs or spaces
        scores[name] = 100 * vectors.evaluate_word_pairs(job[name], delimiter=None)[1][0]
sys.stdout.write(json.dumps({name: round(float(score), 2) for name, score in scores.items()}) + "\n")
