"""An output layer as a PyTorch module.

From hidden vectors and targets to a loss, from hidden vectors to probabilities.

`OutputHead(spec, dim, counts)` is the head of the layer's family: a file of this folder registers one for a
class of layers with `head_for`. A head holds the parameters (`weight`, `bias`, ...) and knows the loss of
every example; what all heads do alike is here: reductions, probabilities, samples, settings. Tables (noise,
trees, classes) come from the same code as those of the compiled kernels.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn import functional

from unhot.errors import ConfigError, DataError, at_least, one_of, whole
from unhot.nn.classes import check_ids
from unhot.nn.flat_batch import Batch, flat_hidden, flatten
from unhot.nn.number_types import exact_type, wide, widened
from unhot.outputs import OutputLayer, parse_output
from unhot.types import Counts

AT_ONCE = 1 << 24  # numbers of a block of probabilities, where not all are wanted
HEADS: dict[type[OutputLayer], type[OutputHead]] = {}
Kind = TypeVar("Kind", bound="type[OutputHead]")


class Rows(NamedTuple):
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


class OutputHead(nn.Module):
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
    >>> head
    OutputHead(sampled:k=3,noise=unigram,power=0.75,unique=false,bias=true,hits=keep; words=5, dim=4, share=batch)
    """

    scores_all_words: ClassVar[bool] = False  # so that every row has a gradient
    draws_noise: ClassVar[bool] = False
    many_true: ClassVar[bool] = True  # several true classes have a meaning
    smooths: ClassVar[bool] = False
    untied: ClassVar[str | None] = None  # why output vectors cannot be an embedding's
    exact: ClassVar[tuple[str, ...]] = ()  # buffers that keep their type when the module's changes

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
        self.layer = _with_bias(spec, bias)
        self.dim, self.sparse, self.share = whole("dim", dim, 1), sparse, share
        self.label_smoothing = at_least("label_smoothing", label_smoothing, 0)
        known = _checked_counts(counts)
        self.words = known.size
        self._check_settings(weight)
        self.register_buffer("counts", torch.from_numpy(known))
        self.tied = weight is not None
        self.make(known)
        if weight is not None:  # the rest goes where it is
            weight = self._checked_weight(weight, device, dtype)
            device, dtype = weight.device, weight.dtype
        self.to(device=device, dtype=dtype)  # tables that are exact keep their type
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
        self.register_buffer("seen", torch.zeros(0, dtype=torch.int64))

    def losses(self, batch: Batch) -> Tensor:
        """The loss of each example: [batch]."""
        raise NotImplementedError

    def log_weight(self, hidden: Tensor) -> Tensor:
        """What the layer takes for log P of all words, before it is normalised.

        [batch, dim] -> [batch, words].
        """
        raise NotImplementedError

    def width(self) -> int:
        """How many numbers `log_weight` holds for a hidden vector."""
        return self.words

    def drawn_from(self, batch: Batch) -> int:
        """How many different draws there are."""
        return self.words

    def set_partition(self, ids: ArrayLike | Tensor) -> None:
        """Set the words of the part of the text that comes now, for layers that learn part by part."""
        raise ConfigError(f"{self.layer.name}: learns from the whole text, so there are no parts to set")

    def total(self, batch: Batch, scale: Tensor) -> Tensor:
        """The sum of the losses, each times its scale: [batch] -> a number."""
        return (self.losses(batch) * scale).sum()

    def reset_parameters(self) -> None:
        """Output vectors as `nn.Linear` begins them; biases as the words' own probabilities have them."""
        if not self.tied:
            nn.init.uniform_(self.weight, -1 / math.sqrt(self.dim), 1 / math.sqrt(self.dim))
        self.reset_bias()

    @torch.no_grad()
    def reset_bias(self) -> None:
        """What gives each word its share of the text, as far as the layer's rows can."""
        if self.bias is not None and not self.bias.is_meta:
            start = torch.from_numpy(self.layer.start_bias(self.counts.cpu().numpy()))
            self.bias.copy_(start[: self.bias.shape[0]])

    def effective(self) -> Rows:
        """What is learned, as a matrix: with it, `unhot.outputs.Head` gives the same probabilities."""
        return Rows(self.weight.detach(), None if self.bias is None else self.bias.detach(), None)

    @torch.no_grad()
    def begin(self, rows: Rows) -> None:
        """Set what is learned from such a matrix."""
        self.check_rows(rows)
        self.weight.copy_(rows.out_vectors)
        if self.bias is not None and rows.out_bias is not None:
            self.bias.copy_(rows.out_bias)

    def check_rows(self, rows: Rows) -> None:
        """Raise a `DataError` unless such a matrix is one of this head's."""
        count = self.layer.rows(self.counts.cpu().numpy())
        if tuple(rows.out_vectors.shape) != (count, self.dim):
            raise DataError(
                f"out_vectors of shape {tuple(rows.out_vectors.shape)}: {self.layer.spec()} has [{count}, "
                f"{self.dim}]"
            )
        if rows.out_bias is not None and (self.bias is None or tuple(rows.out_bias.shape) != (count,)):
            told = (
                f"must be [{count}]"
                if self.bias is not None
                else "this head has none; make it with bias=True"
            )
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
        """The loss of hidden vectors [..., dim] for targets [...], or for several true classes each.

        [..., true].

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
        """The log of what the layer's own estimates of the probabilities sum to.

        [...]; zero where it is normalised by construction.
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
        """N words drawn for each hidden vector.

        [..., n]. The temperature is that of the joint distribution over words; 0: the best.

        The largest of log P / temperature + Gumbel noise is such a draw, exact for any number of words.
        """
        n, temperature = whole("n", n, 1), at_least("temperature", temperature, 0)
        drawn = []
        for block in self._blocks(hidden):
            log_prob = self.log_prob(block)
            if temperature == 0:
                drawn.append(log_prob.argmax(dim=-1, keepdim=True).expand(-1, n))
                continue
            # the first of exponential waits at rate P is the largest with Gumbel noise; float32 has too few
            # small numbers for many words
            wait = torch.empty_like(log_prob, dtype=exact_type(log_prob.device))
            # the best stays finite, however cold it is
            tempered = (log_prob - log_prob.amax(dim=-1, keepdim=True)) / temperature
            rounds = [
                (tempered - wait.exponential_(generator=generator).log()).argmax(dim=-1) for _ in range(n)
            ]
            drawn.append(torch.stack(rounds, dim=-1))
        return torch.cat(drawn).reshape(*hidden.shape[:-1], n)

    def rows_of(self, ids: Tensor) -> Tensor:
        """Output vectors of some rows; with sparse gradients if that is wanted."""
        return functional.embedding(ids, self.weight, sparse=self.sparse)

    def bias_of(self, ids: Tensor) -> Tensor:
        """Biases of some rows; zero where there are none."""
        return self.weight.new_zeros(ids.shape) if self.bias is None else self.bias[ids]

    def scores(self, hidden: Tensor) -> Tensor:
        """Scores of all rows: [batch, rows]."""
        return widened(functional.linear(hidden, self.weight, self.bias))

    def extra_repr(self) -> str:
        """The spec and what else was set."""
        settings = {"words": self.words, "dim": self.dim}
        more = [f"{name}={value}" for name, value in settings.items()]
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
                f"several true classes: they are not defined for {spec}; give one target for each hidden "
                "vector"
            )
        if has_draws and not self.draws_noise:
            raise ConfigError(f"draws: {spec} draws nothing; leave them out")
        if has_in_bias != wanted:
            raise ConfigError(
                f"in_bias: {spec} {'needs one for each input' if wanted else 'has none; leave it out'}"
            )
        if self.sparse and torch.compiler.is_compiling():
            raise ConfigError(
                "sparse=True: torch.compile knows no sparse gradients; make the head with sparse=False, or "
                "do not compile it"
            )

    def _checked_weight(
        self, weight: nn.Parameter, device: torch.device | str | None, dtype: torch.dtype | None
    ) -> nn.Parameter:
        if not isinstance(weight, nn.Parameter) or tuple(weight.shape) != (self.words, self.dim):
            shape = tuple(getattr(weight, "shape", ()))
            raise ConfigError(
                f"weight of shape {shape}: must be a Parameter [words, dim] = [{self.words}, {self.dim}]"
            )
        if dtype not in (None, weight.dtype) or (
            device is not None and torch.device(device).type != weight.device.type
        ):
            raise ConfigError(
                f"weight of type {weight.dtype} on {weight.device}: leave device and dtype out, the head "
                "goes where its weight is"
            )
        return weight

    def _blocks(self, hidden: Tensor) -> tuple[Tensor, ...]:
        """Hidden vectors, as many at a time as there is room for."""
        blocks: tuple[Tensor, ...] = flat_hidden(hidden, self.dim).split(max(1, AT_ONCE // self.width()))
        return blocks

    # ---- what is learned from targets alone

    def _observe(self, batch: Batch) -> None:
        """Count the targets, those of all processes; the batch itself keeps what was known before it."""
        if not self.training or self.seen.numel() == 0:
            return
        fresh = torch.zeros_like(self.seen).index_add_(
            0, batch.target.reshape(-1), batch.known.reshape(-1).long()
        )
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.all_reduce(fresh)
        self.seen += fresh

    # ---- types and files

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> OutputHead:
        """Move and convert, but leave tables exact."""
        kept = {name: getattr(self, name) for name in ("counts", *self.exact)}
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, table in kept.items():
            device = getattr(self, name).device
            setattr(
                self,
                name,
                table.to(
                    device=device, dtype=exact_type(device) if table.is_floating_point() else table.dtype
                ),
            )
        return self

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        given = state_dict.get(f"{prefix}counts")
        if (
            given is not None
            and not self.counts.is_meta
            and (
                given.shape != self.counts.shape or not torch.equal(given.to(self.counts.device), self.counts)
            )
        ):
            errors: list[str] = rest[4]
            errors.append(
                f"{prefix}counts: are not those that this head was made from, so its tables differ; make it "
                "with the same counts"
            )
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _with_bias(spec: str | OutputLayer, bias: bool | None) -> OutputLayer:
    """The layer, with a bias or not as it was told.

    A spec that says nothing means what the method's paper has.
    """
    layer = parse_output(spec)
    if bias is None and (isinstance(spec, OutputLayer) or "bias=" in spec):
        return layer
    wanted = layer.biased if bias is None else bool(bias)
    return dataclasses.replace(layer, **{"bias": wanted}) if hasattr(layer, "bias") else layer


def _checked_counts(counts: ArrayLike | Tensor) -> Counts:
    given = counts.detach().cpu().numpy() if isinstance(counts, Tensor) else np.asarray(counts)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iuf" or not (given >= 0).all():
        raise ConfigError(
            f"counts of shape {given.shape} and type {given.dtype}: must be numbers >= 0, one for each word"
        )
    if given.dtype.kind == "f" and not (np.isfinite(given).all() and (given == np.rint(given)).all()):
        raise ConfigError("counts: must be whole numbers")
    if (given >= 2**63).any():
        raise ConfigError(f"counts up to {given.max():g}: must be less than 2**63")
    return np.array(given, np.int64)  # a copy: what was given may be read-only
