"""Output layers as PyTorch modules, which compute losses for targets and probabilities of all words.

`OutputHead(spec, dim, counts)` makes the head of the layer's family. Each family has a file in this folder,
which registers its head for a class of layers with `head_for`. A head holds the parameters (`weight`, `bias`,
...) and computes the loss of every example. This file holds what all heads share: reductions, probabilities,
samples, settings. The tables (noise, trees, classes) come from the same code as those of the compiled
kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple, TypeVar

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn import functional

from unhot.errors import ConfigError, DataError, at_least, one_of, whole
from unhot.nn.classes import check_ids
from unhot.nn.head_arguments import (
    FlatBatch,
    check_weight,
    checked_counts,
    flat_hidden,
    flatten,
    layer_with_bias,
)
from unhot.nn.noise import draw_tempered
from unhot.nn.number_types import ExactTables, wide, widened
from unhot.outputs import OutputLayer, parse_output
from unhot.outputs.head import SHORTEST
from unhot.types import Counts

AT_ONCE = 1 << 24  # the size of a block of probabilities, where they are computed block by block
HEADS: dict[type[OutputLayer], type[OutputHead]] = {}
Kind = TypeVar("Kind", bound="type[OutputHead]")


class OutputRows(NamedTuple):
    """The learned state as a matrix of output vectors, for any kind of head."""

    out_vectors: Tensor  # [rows, dim]
    out_bias: Tensor | None  # [rows]
    ln_z: Tensor | None  # [1]


def head_for(*layers: type[OutputLayer]) -> Callable[[Kind], Kind]:
    """Register a head for layers of these classes and of classes derived from them."""

    def decorate(head: Kind) -> Kind:
        HEADS.update(dict.fromkeys(layers, head))
        return head

    return decorate


class OutputHead(ExactTables):
    """A softmax over a big vocabulary, or one of its cheaper alternatives.

    spec       the layer: "nce:k=25", "adaptive", ... or an `OutputLayer`
    dim        length of the hidden vectors
    counts     how often each word occurs: [words]; noise, trees and classes are made from the counts. A whole
               number is the number of words, which then count as equally frequent
    bias       learn a bias for each output row; None: as the spec says, or if it does not say, as in the
               method's paper (an `OutputLayer` always says)
    weight     a parameter [words, dim] to use as output vectors, such as an embedding's (tying)
    sparse     sparse gradients of the output vectors, for torch.optim.SGD and SparseAdam; not for layers that
               score every word
    share      draw noise words once for each "batch", or for each "example"
    label_smoothing    softmax, self_normalized: the share of the label that is spread over all words

    >>> head = OutputHead("sampled:k=3", dim=4, counts=[5, 3, 2, 1, 1])
    >>> hidden, target = torch.randn(2, 7, 4), torch.randint(5, (2, 7))
    >>> head(hidden, target).shape, head.log_prob(hidden).shape
    (torch.Size([]), torch.Size([2, 7, 5]))
    >>> OutputHead("hierarchical", dim=4, counts=[5, 3, 2, 1, 1])
    OutputHead(hierarchical:tree=huffman,bias=true; words=5, dim=4)
    """

    scores_all_words: ClassVar[bool] = False  # whether it scores all words, so that every row has a gradient
    draws_noise: ClassVar[bool] = False  # whether `forward` takes `draws`
    many_true: ClassVar[bool] = True  # whether an example may have several true classes
    smooths: ClassVar[bool] = False  # whether it has label smoothing
    exact_loss: ClassVar[bool] = False  # whether its loss is -log P(target), without a score for every word
    untied: ClassVar[str | None] = None  # why its output vectors cannot be those of an embedding

    def __new__(cls, spec: str | OutputLayer = "softmax", *args: Any, **settings: Any) -> OutputHead:
        """Make the head of the layer's family."""
        if cls is not OutputHead:
            return super().__new__(cls)
        layer = parse_output(spec)
        for kind in type(layer).__mro__:
            if kind in HEADS:
                return super().__new__(HEADS[kind])
        raise ConfigError(
            f"{layer.name}: has no torch module; register one with unhot.nn.head_for({type(layer).__name__})"
        )

    def __init__(
        self,
        spec: str | OutputLayer,
        dim: int,
        counts: ArrayLike | Tensor,
        *,
        bias: bool | None = None,
        weight: nn.Parameter | None = None,
        sparse: bool = False,
        share: str = "batch",
        label_smoothing: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.layer = layer_with_bias(spec, bias)
        self.dim = whole("dim", dim, 1)
        self.sparse = sparse
        self.share = share
        self.label_smoothing = at_least("label_smoothing", label_smoothing, 0)
        known = checked_counts(counts)
        self.words = known.size
        self._check_settings(weight)
        self.keep(counts=torch.from_numpy(known), persistent=True)
        self.register_buffer("seen", torch.zeros(0, dtype=torch.int64))
        self.tied = weight is not None
        self.ln_z: nn.Parameter | None = None
        self.make(known)
        if weight is not None:  # everything else moves to the device and type of the weight
            check_weight(weight, (self.words, self.dim), device, dtype)
            device, dtype = weight.device, weight.dtype
        self.to(device=device, dtype=dtype)
        if weight is not None:
            self.weight = weight  # set after `to`, which would replace it and untie it
        self.reset_parameters()

    counts: Tensor
    weight: nn.Parameter
    bias: nn.Parameter | None
    seen: Tensor  # [words] how often each word was a target, for layers that count it; empty otherwise

    # ---- what a family of heads implements

    def make(self, counts: Counts) -> None:
        """Make parameters and tables; here a weight and a bias for each output row of the layer."""
        rows = self.layer.rows(counts)
        self.register_parameter("weight", None if self.tied else nn.Parameter(torch.empty(rows, self.dim)))
        self.bias = nn.Parameter(torch.empty(rows)) if self.layer.biases().out else None
        if self.layer.biases().ln_z:
            self.ln_z = nn.Parameter(torch.empty(1))

    def losses(self, batch: FlatBatch) -> Tensor:
        """Return the loss of each example: [batch]."""
        raise NotImplementedError

    def log_weight(self, hidden: Tensor) -> Tensor:
        """Return the layer's unnormalised log P of all words: [batch, dim] -> [batch, words].

        Here these are the scores.
        """
        return self.scores(hidden)

    def width(self) -> int:
        """Return how many numbers `log_weight` holds for a hidden vector."""
        return self.words

    def drawn_from(self, batch: FlatBatch) -> int:
        """Return the number of ids that `draws` may hold, starting from 0."""
        return self.words

    def set_partition(self, ids: ArrayLike | Tensor) -> None:
        """Set the words of the next part of the text, for layers that learn part by part."""
        raise ConfigError(f"{self.layer.name}: does not learn part by part; do not call set_partition")

    def total(self, batch: FlatBatch, scale: Tensor) -> Tensor:
        """Return the sum of the losses, each multiplied by its scale [batch]: a number."""
        return (self.losses(batch) * scale).sum()

    def matrices(self) -> Iterable[nn.Parameter]:
        """Return the weights that start at random; a tied weight keeps its values."""
        return () if self.tied else (self.weight,)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Initialise matrices as `nn.Linear` does, and biases so that each word has its share of the text."""
        for matrix in self.matrices():
            bound = 1 / math.sqrt(matrix.shape[1])
            nn.init.uniform_(matrix, -bound, bound)
        if self.bias is not None and not self.bias.is_meta:
            start = torch.from_numpy(self.layer.start_bias(self.counts.cpu().numpy()))
            self.bias.copy_(start[: self.bias.shape[0]])
        if self.ln_z is not None:
            nn.init.zeros_(self.ln_z)

    def effective(self) -> OutputRows:
        """Return the learned state as a matrix; `unhot.outputs.Head` gives the same probabilities with it.

        If scores are cosines, the rows have length 1.
        """
        bias, ln_z = (None if one is None else one.detach() for one in (self.bias, self.ln_z))
        return OutputRows(self.unit(self.weight.detach()), bias, ln_z)

    @torch.no_grad()
    def begin(self, rows: OutputRows) -> None:
        """Set the parameters from a matrix of output vectors, as `effective` returns it."""
        self.check_rows(rows)
        for own, given in zip((self.weight, self.bias, self.ln_z), rows, strict=True):
            if own is not None and given is not None:
                own.copy_(given)

    def check_rows(self, rows: OutputRows) -> None:
        """Raise a `DataError` unless a matrix of output vectors has the shape of this head."""
        count = self.layer.rows(self.counts.cpu().numpy())
        if tuple(rows.out_vectors.shape) != (count, self.dim):
            given = tuple(rows.out_vectors.shape)
            raise DataError(f"out_vectors of shape {given}: {self.layer.spec()} needs [{count}, {self.dim}]")
        if rows.out_bias is not None and (self.bias is None or tuple(rows.out_bias.shape) != (count,)):
            none = "this head has no biases; make it with bias=True"
            told = none if self.bias is None else f"must be [{count}]"
            raise DataError(f"out_bias of shape {tuple(rows.out_bias.shape)}: {told}")

    # ---- what all heads share

    def forward(
        self,
        hidden: Tensor,
        target: Tensor,
        *,
        reduction: str = "mean",
        ignore_index: int = -100,
        draws: Tensor | None = None,
        in_bias: Tensor | None = None,
    ) -> Tensor:
        """Return the loss of hidden vectors [..., dim] for targets [...], or [..., true] if several are true.

        This is the training loss, also in `eval()`; to validate a model, use `nll`.

        reduction      "mean" over the examples that are not ignored (0 if all are), "sum", or "none": [...]
        ignore_index   a target to ignore; with several true classes, the padding of short rows
        draws          noise words to use in place of random ones: [k], or [..., k]
        in_bias        for nce:ln_z=per_input, a number to add to the scores of each input: [...]
        """
        one_of("reduction", reduction, ("mean", "sum", "none"))
        batch = flatten(hidden, target, self.dim, self.words, ignore_index, draws, in_bias, self.seen)
        self._check_call(target.ndim == hidden.ndim, draws is not None, in_bias is not None)
        if batch.draws is not None:
            batch = batch._replace(draws=check_ids("draws", batch.draws, self.drawn_from(batch)))
        counted = batch.known.any(dim=1)
        self._observe(batch)
        if reduction == "none":
            losses = torch.where(counted, self.losses(batch), 0.0)
            return losses.reshape(hidden.shape[:-1])
        scale = counted.to(wide(batch.hidden.dtype))
        if reduction == "mean":
            scale = scale / scale.sum().clamp(min=1.0)
        return self.total(batch, scale)

    @torch.no_grad()
    def nll(
        self, hidden: Tensor, target: Tensor, *, reduction: str = "mean", ignore_index: int = -100
    ) -> Tensor:
        """Return the exact -log P(target), for validation: in any mode, without gradients, block by block.

        P is that of `log_prob`, so `exp` of the mean is the perplexity. `forward` returns the training loss,
        also in `eval()`: for layers that draw noise an estimate over a few words, not this. Shapes, reduction
        and ignore_index are those of `forward`; several true classes of an example are summed.
        """
        one_of("reduction", reduction, ("mean", "sum", "none"))
        batch = flatten(hidden, target, self.dim, self.words, ignore_index, None, None, self.seen)
        size = max(1, AT_ONCE // self.width())
        parts = [
            self.log_prob(block).gather(1, ids)
            for block, ids in zip(batch.hidden.split(size), batch.target.split(size), strict=True)
        ]
        losses = torch.where(batch.known, -torch.cat(parts), 0.0).sum(dim=1)
        if reduction == "none":
            return losses.reshape(hidden.shape[:-1])
        total, counted = losses.sum(), batch.known.any(dim=1).sum()
        return total / counted.clamp(min=1) if reduction == "mean" else total

    def log_prob(self, hidden: Tensor) -> Tensor:
        """Return the log-probabilities of all words: [..., words]."""
        weight = self.log_weight(flat_hidden(hidden, self.dim))
        return functional.log_softmax(weight, dim=-1).reshape(*hidden.shape[:-1], self.words)

    def log_z(self, hidden: Tensor) -> Tensor:
        """Return log Z, where Z is the sum of the layer's own unnormalised probabilities: [...].

        It is 0 for layers whose probabilities are normalised by construction.
        """
        return self.log_weight(flat_hidden(hidden, self.dim)).logsumexp(dim=-1).reshape(hidden.shape[:-1])

    @torch.no_grad()
    def topk(self, hidden: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return the k most likely words and their log-probabilities, the best first: [..., k] each."""
        k = whole("k", k, 1, self.words)
        found = [self.log_prob(block).topk(k) for block in self._blocks(hidden)]
        ids, values = (torch.cat([one[i] for one in found]).reshape(*hidden.shape[:-1], k) for i in (1, 0))
        return ids, values

    @torch.no_grad()
    def sample(
        self,
        hidden: Tensor,
        n: int = 1,
        *,
        temperature: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Draw n words for each hidden vector: [..., n].

        The temperature applies to the final distribution over words; 0 gives the most likely word.
        """
        n, temperature = whole("n", n, 1), at_least("temperature", temperature, 0)
        blocks = self._blocks(hidden)
        drawn = [draw_tempered(self.log_prob(block), n, temperature, generator) for block in blocks]
        return torch.cat(drawn).reshape(*hidden.shape[:-1], n)

    def unit(self, vectors: Tensor) -> Tensor:
        """Return vectors divided by their lengths if scores are cosines, otherwise as they are.

        Vectors of zeros stay zeros.
        """
        if not self.layer.by_cosine():
            return vectors
        return functional.normalize(widened(vectors), dim=-1, eps=SHORTEST).to(vectors.dtype)

    def rows_of(self, ids: Tensor) -> Tensor:
        """Return the output vectors of some rows; their gradients are sparse if `sparse` is set."""
        return self.unit(functional.embedding(ids, self.weight, sparse=self.sparse))

    def bias_of(self, ids: Tensor) -> Tensor:
        """Return the biases of some rows; zeros if there are no biases."""
        return self.weight.new_zeros(ids.shape) if self.bias is None else self.bias[ids]

    def own_scores(self, batch: FlatBatch) -> Tensor:
        """Return the scores of the targets: [batch, true]."""
        scores = torch.bmm(self.rows_of(batch.target), batch.hidden[:, :, None]).squeeze(2)
        return widened(scores) + self.bias_of(batch.target)

    def scores(self, hidden: Tensor) -> Tensor:
        """Return the scores of all rows: [batch, rows]."""
        if not self.layer.by_cosine():
            return widened(functional.linear(hidden, self.weight, self.bias))
        scores = widened(functional.linear(self.unit(hidden), self.weight))
        # not the rows are divided: a copy of all rows would take much longer than their lengths
        lengths: Tensor = torch.linalg.vector_norm(self.weight, dim=1, dtype=scores.dtype)
        scores = scores / lengths.clamp(min=SHORTEST)
        return scores if self.bias is None else scores + self.bias

    def tempered(self, scores: Tensor) -> Tensor:
        """Return scores divided by the temperature of the layer, if it has one."""
        temperature = getattr(self.layer, "temperature", 1.0)
        return scores if temperature == 1 else scores / temperature

    def extra_repr(self) -> str:
        """Return the spec and the other settings, for `repr`."""
        more = [f"words={self.words}, dim={self.dim}"]
        more += [f"share={self.share}"] if self.draws_noise else []
        more += ["sparse=True"] if self.sparse else []
        more += ["tied"] if self.tied else []
        more += [f"label_smoothing={self.label_smoothing:g}"] if self.label_smoothing else []
        return f"{self.layer.spec()}; {', '.join(more)}"

    def _get_name(self) -> str:
        return OutputHead.__name__

    # ---- checks and shapes

    def _check_settings(self, weight: nn.Parameter | None) -> None:
        name = self.layer.name
        one_of("share", self.share, ("batch", "example"))
        if self.sparse and self.scores_all_words:
            raise ConfigError(
                f"sparse=True: {name} scores all words, so every row has a gradient; leave sparse out"
            )
        if self.label_smoothing and not self.smooths:
            raise ConfigError(
                f"label_smoothing={self.label_smoothing:g}: {name} has no label smoothing; only softmax and "
                "self_normalized have it"
            )
        if self.label_smoothing > 1:
            raise ConfigError(f"label_smoothing={self.label_smoothing:g}: must be between 0 and 1")
        if weight is not None and (self.untied or not self.layer.rows_are_words):
            raise ConfigError(
                f"weight: {name} cannot share an embedding's weight: "
                f"{self.untied or 'its rows do not stand for words'}"
            )

    def _check_call(self, several: bool, has_draws: bool, has_in_bias: bool) -> None:
        # the spec is made for errors alone: inside a graph, numbers that differ from head to head are no text
        spec, wanted = self.layer.spec, self.layer.biases().each_input
        if several and not self.many_true:
            raise ConfigError(
                f"several true classes: {spec()} takes only one; give one target for each hidden vector"
            )
        if has_draws and not self.draws_noise:
            raise ConfigError(f"draws: {spec()} draws no noise words; leave draws out")
        if has_in_bias != wanted:
            raise ConfigError(
                f"in_bias: {spec()} {'needs one for each input' if wanted else 'takes none; leave it out'}"
            )
        if self.sparse and torch.compiler.is_compiling():
            raise ConfigError(
                "sparse=True: torch.compile has no sparse gradients; "
                "make the head with sparse=False, or do not compile it"
            )

    def _blocks(self, hidden: Tensor) -> tuple[Tensor, ...]:
        """Split hidden vectors into blocks whose probabilities fit in memory."""
        blocks: tuple[Tensor, ...] = flat_hidden(hidden, self.dim).split(max(1, AT_ONCE // self.width()))
        return blocks

    # ---- counts of targets, and saved states

    def _observe(self, batch: FlatBatch) -> None:
        """Count the targets of all processes in `seen`; `batch.seen` keeps the counts before this batch."""
        if not self.training or self.seen.numel() == 0:
            return
        fresh = torch.zeros_like(self.seen).index_add_(
            0, batch.target.reshape(-1), batch.known.reshape(-1).long()
        )
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.all_reduce(fresh)
        self.seen += fresh

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Load a state; refuse one that was learned with other counts."""
        given, own = state_dict.get(f"{prefix}counts"), self.counts
        if not (given is None or own.is_meta or torch.equal(given.to(own.device), own)):
            errors: list[str] = rest[4]
            errors.append(
                f"{prefix}counts: are not the counts of this head, so its tables differ; "
                "make the head with the same counts"
            )
        super()._load_from_state_dict(state_dict, prefix, *rest)
