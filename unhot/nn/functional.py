"""TensorFlow's sampled losses for torch tensors: the same parameters in the same order, the same results.

With x = inputs, y = labels, n = sampled classes, c = expected counts, s(w) = x.weights[w] + biases[w]:

    score of a column    d(w) = s(w) - log c(w)         negative_sampling_loss: d(w) = s(w)
    columns              the num_true true classes, then the sampled ones; draws that are true classes
                         ("accidental hits") may be removed
    label mass           1 / num_true on each true column, 0 on the others

    sampled_softmax_loss      log sum over columns of exp d - mean over true columns of d
    nce_loss                  sum over columns of softplus(d) - mean over true columns of d
    negative_sampling_loss    the same

All functions return a loss for each example, [batch]. Gradients flow to inputs, weights and biases, not to
the expected counts. The rows of a step are looked up together, and all examples share the sampled classes, so
their scores are one matrix product. `sparse=True` makes the gradients of weights and biases sparse (only rows
touched), for `torch.optim.SGD`, `SparseAdam` and `Adagrad`. Then weights and biases must be the parameters
themselves (leaves): a tensor computed from a parameter, such as a slice or a copy in another type, cannot
pass on a sparse gradient.

The losses run in graphs of `torch.compile` if sampled_values are given and gradients are dense. They run
under autocast and on any device; once counts are subtracted, scores are at least float32. Values are checked
where that is free: on the CPU, outside of graphs.

`unhot.nn.OutputHead` has more methods, and defaults that follow the papers rather than TensorFlow;
docs/moving-from-tensorflow.md compares the two.
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from unhot.errors import ConfigError, DataError, whole
from unhot.nn.classes import (
    AccidentalHits,
    check_ids,
    check_tensor,
    checked_classes,
    compute_accidental_hits,
    readable,
    without_hits,
    without_last_hits,
)
from unhot.nn.number_types import autocasts, widened
from unhot.nn.samplers import Candidates, Seed, all, fixed_unigram, learned_unigram, log_uniform, uniform
from unhot.nn.trees import TreePaths, steps_of, tree_paths
from unhot.tree.paths import Paths

__all__ = [
    "AccidentalHits",
    "Candidates",
    "TreePaths",
    "all",
    "compute_accidental_hits",
    "fixed_unigram",
    "hierarchical_softmax_loss",
    "learned_unigram",
    "log_uniform",
    "nce_loss",
    "negative_sampling_loss",
    "sampled_softmax_loss",
    "tree_paths",
    "uniform",
]


def sampled_softmax_loss(
    weights: Tensor, biases: Tensor | None, labels: Tensor, inputs: Tensor, num_sampled: int,
    num_classes: int, num_true: int = 1, sampled_values: Sequence[Tensor] | None = None,
    remove_accidental_hits: bool = True, seed: Seed = None, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Return the cross entropy over true and sampled classes, as `tf.nn.sampled_softmax_loss`: [batch].

    weights [num_classes, dim], biases [num_classes] (or None), labels [batch, num_true], inputs [batch, dim].
    `sampled_values` is the result of a sampler; without it `log_uniform` draws distinct classes, which is
    only right for classes sorted by descending frequency. The loss is for training; to evaluate, use the
    softmax over all classes.
    """
    true, noise = _columns(
        weights, biases, labels, inputs, sparse, num_sampled, num_classes, num_true, sampled_values, seed,
        without_last_hits if remove_accidental_hits else None,
    )  # fmt: skip
    return -F.log_softmax(torch.cat([true, noise], 1), 1)[:, :num_true].mean(1)


def nce_loss(
    weights: Tensor, biases: Tensor | None, labels: Tensor, inputs: Tensor, num_sampled: int,
    num_classes: int, num_true: int = 1, sampled_values: Sequence[Tensor] | None = None,
    remove_accidental_hits: bool = False, seed: Seed = None, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Return the loss of noise-contrastive estimation with Z = 1, as `tf.nn.nce_loss`: [batch].

    The parameters are those of `sampled_softmax_loss`. With `remove_accidental_hits=True` this is sampled
    logistic regression, not NCE: scores converge to log odds instead of log-probabilities.
    """
    true, noise = _columns(
        weights, biases, labels, inputs, sparse, num_sampled, num_classes, num_true, sampled_values, seed,
        without_last_hits if remove_accidental_hits else None,
    )  # fmt: skip
    return _logistic(true, noise)


def negative_sampling_loss(
    weights: Tensor, biases: Tensor | None, labels: Tensor, inputs: Tensor, num_sampled: int,
    num_classes: int, num_true: int = 1, sampled_values: Sequence[Tensor] | None = None,
    remove_accidental_hits: bool = True, seed: Seed = None, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Return the loss of negative sampling: `nce_loss` with all expected counts one: [batch].

    TensorFlow has no such function. The parameters are those of `sampled_softmax_loss`; of `sampled_values`
    only the ids are used. Without `sampled_values`, `log_uniform` draws with replacement; word2vec's own
    noise is `fixed_unigram` with the counts as unigrams and distortion=0.75. If a true class was drawn
    several times, all its draws are removed, as in word2vec, not only the last one.
    """
    true, noise = _columns(
        weights, biases, labels, inputs, sparse, num_sampled, num_classes, num_true, sampled_values, seed,
        without_hits if remove_accidental_hits else None, counted=False,
    )  # fmt: skip
    return _logistic(true, noise)


def hierarchical_softmax_loss(
    weights: Tensor,
    biases: Tensor | None,
    labels: Tensor,
    inputs: Tensor,
    tree: Paths | TreePaths,
    sparse: bool = False,
) -> Tensor:
    """Return -log P(label) under a binary tree over the classes, the mean over several labels: [batch].

        P(w) = product over the nodes n on w's path of sigmoid(s) where it goes left, sigmoid(-s) where
               right, with s = x.weights[n] + biases[n]

    weights [classes - 1, dim] and biases [classes - 1] (or None) belong to inner nodes; labels are [batch] or
    [batch, num_true]. `tree` is a tree of `unhot.tree` (`huffman(counts)`, `balanced(counts)`,
    `from_codes(...)`). For a GPU, move the tree once: `tree_paths(tree, device)`.
    """
    check_tensor("inputs", inputs)
    paths = tree if isinstance(tree, TreePaths) else tree_paths(tree, inputs.device)
    classes = paths.start.numel() - 1
    nodes = f"classes - 1, the inner nodes of a tree of {classes} classes"
    _check_rows(weights, biases, inputs, sparse, classes - 1, nodes)
    check_tensor("labels", labels)
    if labels.ndim not in (1, 2) or labels.shape[1:].numel() == 0:
        raise DataError(
            f"labels of shape {tuple(labels.shape)}: "
            "must be [batch], or [batch, num_true] with at least one true class"
        )
    labels = labels.unsqueeze(1) if labels.ndim == 1 else labels
    labels = checked_classes("labels", labels, labels.shape[-1], classes)
    _check_batch(labels, inputs)
    steps, sign, there = steps_of(paths, labels)  # [batch, num_true, longest]
    ids = steps.long().flatten(1)
    scores = torch.matmul(F.embedding(ids, weights, sparse=sparse), inputs.unsqueeze(2)).squeeze(2)
    if biases is not None:
        scores = scores + _biases(biases, ids, sparse)
    losses = -F.logsigmoid(sign * widened(scores).reshape(steps.shape))
    return losses.masked_fill(~there, 0.0).sum(2).mean(1)


def _columns(
    weights: Tensor, biases: Tensor | None, labels: Tensor, inputs: Tensor, sparse: bool, num_sampled: int,
    num_classes: int, num_true: int, sampled_values: Sequence[Tensor] | None, seed: Seed,
    without: Callable[[Tensor, Tensor, Tensor], Tensor] | None, *, counted: bool = True,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the scores d of the true classes [batch, num_true] and of the sampled ones [batch, num_sampled].

    `without` removes hits. With `counted`, the log of expected counts is subtracted, and classes are drawn
    without replacement.
    """
    num_classes = whole("num_classes", num_classes, 1)
    _check_rows(weights, biases, inputs, sparse, num_classes, "num_classes")
    labels = checked_classes("labels", labels, num_true, num_classes)
    _check_batch(labels, inputs)
    drawn = _candidates(sampled_values, labels, inputs.dtype, num_sampled, num_classes, counted, seed)
    # one look-up, so that only one gradient as large as the weights is made
    ids = torch.cat([labels.reshape(-1), drawn.sampled_candidates])
    sizes = [labels.numel(), ids.numel() - labels.numel()]
    true_rows, noise_rows = torch.split(F.embedding(ids, weights, sparse=sparse), sizes)
    true = (inputs.unsqueeze(1) * true_rows.view(*labels.shape, weights.shape[1])).sum(2)
    noise = inputs @ noise_rows.T
    offset = torch.zeros((), device=ids.device)
    if biases is not None:
        offset = widened(_biases(biases, ids, sparse))
    if counted:
        counts = torch.cat([drawn.true_expected_count.reshape(-1), drawn.sampled_expected_count]).detach()
        if readable(counts) and not bool((counts > 0).all()):
            raise DataError(
                "sampled_values: some expected counts are not above zero: "
                "use a sampler that can draw every label"
            )
        offset = offset - counts.to(torch.promote_types(inputs.dtype, torch.float32)).log()
    # both offsets are added at once, because the scores are large
    true_offset, noise_offset = torch.split(offset.expand(ids.shape), sizes)
    true, noise = widened(true) + true_offset.view(labels.shape), widened(noise) + noise_offset
    return true, noise if without is None else without(noise, labels, drawn.sampled_candidates)


def _biases(biases: Tensor, ids: Tensor, sparse: bool) -> Tensor:
    """Return the biases of ids, in the shape of the ids."""
    return torch.gather(biases, 0, ids.reshape(-1), sparse_grad=sparse).view(ids.shape)


def _logistic(true: Tensor, noise: Tensor) -> Tensor:
    """Return the sum of softplus over all columns minus the mean score of the true ones.

    -logsigmoid(-d) is softplus(d), without the linear approximation that torch's softplus uses for large d.
    """
    return -F.logsigmoid(-true).sum(1) - true.mean(1) - F.logsigmoid(-noise).sum(1)


def _check_rows(
    weights: Tensor, biases: Tensor | None, inputs: Tensor, sparse: bool, rows: int, what: str
) -> None:
    """Raise an error unless weights, biases and inputs fit each other and there are enough rows."""
    if sparse and torch.compiler.is_compiling():
        raise ConfigError(
            "sparse=True: torch.compile has no sparse gradients; "
            "set sparse=False, or leave the loss out of the graph"
        )
    if not isinstance(weights, Tensor):
        raise ConfigError(
            f"weights of type {type(weights).__name__}: must be one tensor [num_classes, dim]; "
            "join pieces with torch.cat"
        )
    check_tensor("inputs", inputs)
    if inputs.ndim != 2 or weights.ndim != 2 or weights.shape[1] != inputs.shape[1]:
        shapes = f"weights of shape {tuple(weights.shape)} and inputs of shape {tuple(inputs.shape)}"
        raise DataError(f"{shapes}: must be [num_classes, dim] and [batch, dim]")
    if weights.dtype != inputs.dtype and not autocasts(inputs):
        raise DataError(
            f"weights of type {weights.dtype} and inputs of type {inputs.dtype}: must be the same type; "
            "convert one with .to(...)"
        )
    if weights.shape[0] < rows:
        raise ConfigError(f"weights of shape {tuple(weights.shape)}: must have at least {rows} rows: {what}")
    if biases is None:
        return
    check_tensor("biases", biases)
    if biases.shape != weights.shape[:1]:
        raise DataError(
            f"biases of shape {tuple(biases.shape)}: must be one bias for each row of weights, "
            f"({weights.shape[0]},), or None"
        )


def _check_batch(labels: Tensor, inputs: Tensor) -> None:
    if labels.shape[0] != inputs.shape[0]:
        raise DataError(
            f"labels for {labels.shape[0]} examples and inputs for {inputs.shape[0]}: must be equally many"
        )


def _candidates(
    given: Sequence[Tensor] | None, labels: Tensor, dtype: torch.dtype, k: int, classes: int, unique: bool,
    seed: Seed,
) -> Candidates:  # fmt: skip
    """Check and return the given draws, or draw new ones."""
    k = whole("num_sampled", k, 1)
    if given is None:
        dtype = torch.promote_types(dtype, torch.float32)
        return log_uniform(labels, labels.shape[1], k, unique, classes, seed, dtype=dtype)
    if not isinstance(given, (tuple, list)) or len(given) != 3:
        raise ConfigError(
            f"sampled_values: must be the result of a sampler: ({', '.join(Candidates._fields)})"
        )
    drawn = Candidates(*given)
    wanted = ((k,), tuple(labels.shape), (k,))
    for name, values, shape in zip(Candidates._fields, drawn, wanted, strict=True):
        check_tensor(f"sampled_values: {name}", values)
        if tuple(values.shape) != shape:
            raise DataError(
                f"sampled_values: {name} of shape {tuple(values.shape)}: "
                f"must be {shape}, by num_sampled and the labels"
            )
    ids = check_ids("sampled_values: sampled_candidates", drawn.sampled_candidates, classes)
    return drawn._replace(sampled_candidates=ids.long())
