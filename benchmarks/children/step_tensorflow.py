"""Train TensorFlow's sampled softmax for some steps, in a graph, with sparse updates: seconds of a step.

Needs tensorflow alone.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

job = json.loads(sys.argv[1])
tf.config.threading.set_intra_op_parallelism_threads(job["threads"])
tf.config.threading.set_inter_op_parallelism_threads(job["threads"])
rng = np.random.default_rng(1)
counts = (1e7 / np.arange(1, job["words"] + 1)).astype(np.int64) + 5
hidden = tf.constant(rng.normal(size=(job["batch"], job["dim"])).astype(np.float32))
labels = tf.constant(rng.choice(job["words"], (job["batch"], 1), p=counts / counts.sum()))
weights = tf.Variable(rng.normal(0, 0.1, (job["words"], job["dim"])).astype(np.float32))
biases = tf.Variable(tf.zeros(job["words"]))


@tf.function  # type: ignore[untyped-decorator]
def step(inputs: Any) -> Any:
    """Forward, backward, and rows and biases changed in place."""
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        loss = tf.reduce_mean(
            tf.nn.sampled_softmax_loss(weights, biases, labels, inputs, job["sampled"], job["words"])
        )
    by_weights, by_biases, by_inputs = tape.gradient(loss, [weights, biases, inputs])
    weights.scatter_sub(tf.IndexedSlices(0.1 * by_weights.values, by_weights.indices))
    biases.scatter_sub(tf.IndexedSlices(0.1 * by_biases.values, by_biases.indices))
    return loss, by_inputs


seconds = []
for _ in range(job["steps"] + 2):
    start = time.perf_counter()
    step(hidden)[1].numpy()
    seconds.append(time.perf_counter() - start)
sys.stdout.write(json.dumps({"seconds": statistics.median(seconds[2:]), "version": tf.__version__}) + "\n")
