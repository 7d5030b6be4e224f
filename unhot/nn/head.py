"""An output layer as a PyTorch module: hidden vectors and targets to a loss, hidden vectors to probabilities.

`OutputHead(spec, dim, counts)` is the head of the layer's family: a file of this folder registers one for a
class of layers with `head_for`. A head holds the parameters (`weight`, `bias`, ...) and knows the loss of
every example; what all heads do alike is here: reductions, probabilities, samples, settings. Tables (noise,
trees, classes) come from the same code as those of the compiled kernels.
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
from unhot.types import Counts

AT_ONCE = 1 << 24  # numbers of a block of probabilities, where not all are wanted
HEADS: dict[type[OutputLayer], type[OutputHead]] = {}
Kind = TypeVar("Kind", bound="type[OutputHead]")


class OutputRows(NamedTuple):
    """What is learned, as a matrix of output vectors, whatever the head makes of it."""

    out_vectors: Tensor  # [rows, dim]
    out_bias: Tensor | None  # [rows]
    ln_z: Tensor | None  # [1]


def head_for(*layers: type[OutputLayer]) -> Callable[[Kind], Kind]:
    """Register a head for layers of these classes, and for all that derive from them."""

    def decorate(head: Kind) -> Kind:
        HEADS.update(dict.fromkeys(layers, head))
        return head

    return decorate


class OutputHead(ExactTables):
    """A softmax over a big vocabulary, or any way around it.

    spec       the layer: "nce:k=25", "adaptive", ... or an `OutputLayer`
    dim        numbers in a hidden vector
    counts     how often each word occurs: [words]; noise, trees and classes are made from them
    bias       learn a bias for each output row; None: what the spec says, and if it says nothing, what the
               method's paper has (an `OutputLayer` always says)
    weight     a parameter [words, dim] to use as output vectors: an embedding's, for instance (tying)
    sparse     sparse gradients of the output vectors, for torch.optim.SGD and SparseAdam; layers that score
               every word have none
    share      noise words are drawn once for a "batch", or for each "example"
    label_smoothing    softmax, self_normalized: the share of the label that is spread over all words

    >>> head = OutputHead("sampled:k=3", dim=4, counts=[5, 3, 2, 1, 1])
    >>> hidden, target = torch.randn(2, 7, 4), torch.randint(5, (2, 7))
    >>> head(hidden, target).shape, head.log_prob(hidden).shape
    (torch.Size([]), torch.Size([2, 7, 5]))
    >>> OutputHead("hierarchical", dim=4, counts=[5, 3, 2, 1, 1])
    OutputHead(hierarchical:tree=huffman,bias=true; words=5, dim=4)
    """

    scores_all_words: ClassVar[bool] = False  # so that every row has a gradient
    draws_noise: ClassVar[bool] = False
    many_true: ClassVar[bool] = True  # several true classes have a meaning
    smooths: ClassVar[bool] = False
    untied: ClassVar[str | None] = None  # why output vectors cannot be an embedding's

    def __new__(cls, spec: str | OutputLayer = "softmax", *args: Any, **settings: Any) -> OutputHead:
        """The head of the layer's family."""
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
        if weight is not None:  # the rest goes where it is
            check_weight(weight, (self.words, self.dim), device, dtype)
            device, dtype = weight.device, weight.dtype
        self.to(device=device, dtype=dtype)
        if weight is not None:
            self.weight = weight  # as it is: moving it would untie it
        self.reset_parameters()

    counts: Tensor
    weight: nn.Parameter
    bias: nn.Parameter | None
    seen: Tensor  # targets so far, for layers that learn how often words are targets; of size zero otherwise

    # ---- what a family of heads says

    def make(self, counts: Counts) -> None:
        """Parameters and tables; here: a weight and a bias for each output row of the layer."""
        rows = self.layer.rows(counts)
        self.register_parameter("weight", None if self.tied else nn.Parameter(torch.empty(rows, self.dim)))
        self.bias = nn.Parameter(torch.empty(rows)) if self.layer.biases().out else None
        if self.layer.biases().ln_z:
            self.ln_z = nn.Parameter(torch.empty(1))

    def losses(self, batch: FlatBatch) -> Tensor:
        """The loss of each example: [batch]."""
        raise NotImplementedError

    def log_weight(self, hidden: Tensor) -> Tensor:
        """What the layer takes for log P of all words, not normalised: [batch, dim] -> [batch, words]."""
        raise NotImplementedError

    def width(self) -> int:
        """How many numbers `log_weight` holds for a hidden vector."""
        return self.words

    def drawn_from(self, batch: FlatBatch) -> int:
        """How many different draws there are."""
        return self.words

    def set_partition(self, ids: ArrayLike | Tensor) -> None:
        """Set the words of the part of the text that comes now, for layers that learn part by part."""
        raise ConfigError(f"{self.layer.name}: learns from the whole text, so there are no parts to set")

    def total(self, batch: FlatBatch, scale: Tensor) -> Tensor:
        """The sum of the losses, each times its scale: [batch] -> a number."""
        return (self.losses(batch) * scale).sum()

    def matrices(self) -> Iterable[nn.Parameter]:
        """The weights that begin at random; one that is shared keeps what it has learned."""
        return () if self.tied else (self.weight,)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Begin matrices as `nn.Linear` does, and biases at what gives each word its share of the text."""
        for matrix in self.matrices():
            bound = 1 / math.sqrt(matrix.shape[1])
            nn.init.uniform_(matrix, -bound, bound)
        if self.bias is not None and not self.bias.is_meta:
            start = torch.from_numpy(self.layer.start_bias(self.counts.cpu().numpy()))
            self.bias.copy_(start[: self.bias.shape[0]])
        if self.ln_z is not None:
            nn.init.zeros_(self.ln_z)

    def effective(self) -> OutputRows:
        """What is learned, as a matrix: with it, `unhot.outputs.Head` gives the same probabilities."""
        bias, ln_z = (None if one is None else one.detach() for one in (self.bias, self.ln_z))
        return OutputRows(self.weight.detach(), bias, ln_z)

    @torch.no_grad()
    def begin(self, rows: OutputRows) -> None:
        """Set what is learned from such a matrix."""
        self.check_rows(rows)
        for own, given in zip((self.weight, self.bias, self.ln_z), rows, strict=True):
            if own is not None and given is not None:
                own.copy_(given)

    def check_rows(self, rows: OutputRows) -> None:
        """Raise a `DataError` unless such a matrix is one of this head's."""
        count = self.layer.rows(self.counts.cpu().numpy())
        if tuple(rows.out_vectors.shape) != (count, self.dim):
            given = tuple(rows.out_vectors.shape)
            raise DataError(f"out_vectors of shape {given}: {self.layer.spec()} has [{count}, {self.dim}]")
        if rows.out_bias is not None and (self.bias is None or tuple(rows.out_bias.shape) != (count,)):
            none = "this head has none; make it with bias=True"
            told = none if self.bias is None else f"must be [{count}]"
            raise DataError(f"out_bias of shape {tuple(rows.out_bias.shape)}: {told}")

    # ---- what all heads do alike

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
        """The loss of hidden vectors [..., dim] for targets [...], or [..., true]: several true classes each.

        reduction      "mean" over the examples that are not ignored (0 if all are), "sum", or "none": [...]
        ignore_index   a target to leave out; among several true classes, what fills up a short row
        draws          noise words to use in place of random ones: [k], or [..., k]
        in_bias        nce:ln_z=per_input: what to add to the scores of each input: [...]
        """
        one_of("reduction", reduction, ("mean", "sum", "none"))
        flat_hidden(hidden, self.dim)
        batch = flatten(hidden, target, self.words, ignore_index, draws, in_bias, self.seen)
        self._check_call(target.ndim == hidden.ndim, draws is not None, in_bias is not None)
        if batch.draws is not None:
            check_ids("draws", batch.draws, self.drawn_from(batch))
        counted = batch.known.any(dim=1)
        self._observe(batch)
        if reduction == "none":
            losses = torch.where(counted, self.losses(batch), 0.0)
            return losses.reshape(hidden.shape[:-1])
        scale = counted.to(wide(batch.hidden.dtype))
        if reduction == "mean":
            scale = scale / scale.sum().clamp(min=1.0)
        return self.total(batch, scale)

    def log_prob(self, hidden: Tensor) -> Tensor:
        """Log-probabilities of all words: [..., words]."""
        weight = self.log_weight(flat_hidden(hidden, self.dim))
        return functional.log_softmax(weight, dim=-1).reshape(*hidden.shape[:-1], self.words)

    def log_z(self, hidden: Tensor) -> Tensor:
        """The log of what the layer's own estimates of the probabilities sum to: [...].

        It is zero where they are normalised by construction.
        """
        return self.log_weight(flat_hidden(hidden, self.dim)).logsumexp(dim=-1).reshape(hidden.shape[:-1])

    @torch.no_grad()
    def topk(self, hidden: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k most likely words and their log-probabilities, the best first: [..., k] each."""
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

        The temperature is that of the joint distribution over words; at 0 it is the best word.
        """
        n, temperature = whole("n", n, 1), at_least("temperature", temperature, 0)
        blocks = self._blocks(hidden)
        drawn = [draw_tempered(self.log_prob(block), n, temperature, generator) for block in blocks]
        return torch.cat(drawn).reshape(*hidden.shape[:-1], n)

    def rows_of(self, ids: Tensor) -> Tensor:
        """Output vectors of some rows; with sparse gradients if that is wanted."""
        return functional.embedding(ids, self.weight, sparse=self.sparse)

    def bias_of(self, ids: Tensor) -> Tensor:
        """Biases of some rows; zero where there are none."""
        return self.weight.new_zeros(ids.shape) if self.bias is None else self.bias[ids]

    def own_scores(self, batch: FlatBatch) -> Tensor:
        """Scores of the targets: [batch, true]."""
        scores = torch.bmm(self.rows_of(batch.target), batch.hidden[:, :, None]).squeeze(2)
        return widened(scores) + self.bias_of(batch.target)

    def scores(self, hidden: Tensor) -> Tensor:
        """Scores of all rows: [batch, rows]."""
        return widened(functional.linear(hidden, self.weight, self.bias))

    def extra_repr(self) -> str:
        """The spec and what else was set."""
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
                f"sparse=True: {name} scores all words, so every row has a gradient; leave it out"
            )
        if self.label_smoothing and not self.smooths:
            raise ConfigError(
                f"label_smoothing={self.label_smoothing:g}: {name} has none; softmax and self_normalized do"
            )
        if self.label_smoothing > 1:
            raise ConfigError(f"label_smoothing={self.label_smoothing:g}: must be between 0 and 1")
        if weight is not None and (self.untied or not self.layer.rows_are_words):
            raise ConfigError(
                f"weight: {name} cannot use an embedding's: "
                f"{self.untied or 'its rows are not those of the words'}"
            )

    def _check_call(self, several: bool, has_draws: bool, has_in_bias: bool) -> None:
        spec, wanted = self.layer.spec(), self.layer.biases().each_input
        if several and not self.many_true:
            raise ConfigError(
                f"several true classes: they are not defined for {spec}; "
                "give one target for each hidden vector"
            )
        if has_draws and not self.draws_noise:
            raise ConfigError(f"draws: {spec} draws nothing; leave them out")
        if has_in_bias != wanted:
            raise ConfigError(
                f"in_bias: {spec} {'needs one for each input' if wanted else 'has none; leave it out'}"
            )
        if self.sparse and torch.compiler.is_compiling():
            raise ConfigError(
                "sparse=True: torch.compile knows no sparse gradients; "
                "make the head with sparse=False, or do not compile it"
            )

    def _blocks(self, hidden: Tensor) -> tuple[Tensor, ...]:
        """Hidden vectors, as many at a time as there is room for."""
        blocks: tuple[Tensor, ...] = flat_hidden(hidden, self.dim).split(max(1, AT_ONCE // self.width()))
        return blocks

    # ---- what is learned from targets alone

    def _observe(self, batch: FlatBatch) -> None:
        """Count the targets, those of all processes; the batch itself keeps what was known before it."""
        if not self.training or self.seen.numel() == 0:
            return
        fresh = torch.zeros_like(self.seen).index_add_(
            0, batch.target.reshape(-1), batch.known.reshape(-1).long()
        )
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.all_reduce(fresh)
        self.seen += fresh

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Refuse what was learned with other counts."""
        given, own = state_dict.get(f"{prefix}counts"), self.counts
        if not (given is None or own.is_meta or torch.equal(given.to(own.device), own)):
            errors: list[str] = rest[4]
            errors.append(
                f"{prefix}counts: are not those that this head was made from, so its tables differ; "
                "make it with the same counts"
            )
        super()._load_from_state_dict(state_dict, prefix, *rest)
