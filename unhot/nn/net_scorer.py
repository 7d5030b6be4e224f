"""Ask a neural language model: log-probabilities of texts, normalised over all words.

    log10 p(w | words before) = (u(w) - log Z) / log 10,   log Z = log of the sum of exp u over all words

u is the layer's own log-probability. It is exact for layers that are normalised, where log Z is zero.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unhot.corpus.reading.tokenizers import Tokenizer
from unhot.lm.scorer import IdLines, Scored, Scorer, sums_of
from unhot.lm.symbols import STREAM_END as END
from unhot.nn.bodies.body import State
from unhot.nn.language_net import LanguageNet
from unhot.types import Doubles, Ids, Starts

PIECE = 1 << 9  # steps of a long text that are scored at once
TOKENS = 1 << 12  # tokens of short lines that are scored at once
SCORES = 1 << 23  # numbers of a block of log-probabilities
LN10 = math.log(10)


class NetState(NamedTuple):
    """The words so far: what the next one is predicted from."""

    hidden: Tensor  # [1, width]
    state: State


class NetScorer(Scorer):
    """The words of a neural model, and the net."""

    end = END
    carries = True

    def __init__(
        self, words: Sequence[str], net: LanguageNet, *, tokenizer: Tokenizer = "whitespace"
    ) -> None:
        """Take the words and the net; PyTorch has threads of its own."""
        super().__init__(words, tokenizer=tokenizer, threads=1)
        self.net = net.eval()
        self.device = net.body.embedding.weight.device

    @torch.inference_mode()
    def score_ids(self, lines: IdLines, tokens: bool = True, carried: list[Any] | None = None) -> Scored:
        """Score lines of ids, each alone, or one behind the other.

        All lines begin behind `</s>`, also without `bos`.
        """
        sizes, targets = lines.sizes, lines.tokens(END)
        pieces = self._alone(targets, sizes) if carried is None else self._along(targets, carried)
        log10, log_z = np.zeros(targets.size), np.zeros(targets.size)
        for places, hidden in pieces:
            own, norm = self._own(hidden, targets[places])
            log10[places], log_z[places] = (own - norm) / LN10, norm
        return Scored(log10, np.zeros(targets.size, np.uint8), sums_of(targets, log10, sizes), log_z)

    def _along(self, targets: Ids, carried: list[Any]) -> Iterator[tuple[Starts, Tensor]]:
        """Yield places and their hidden vectors; each goes on from the one before."""
        state, last = carried or (self.net.begin(1), END)
        inputs = np.concatenate([[last], targets])
        for first in range(0, targets.size, PIECE):
            some = np.arange(first, min(first + PIECE, targets.size))
            hidden, state = self.net.body(self._tensor(inputs[some])[None], state)
            yield some, hidden[0]
        carried[:] = state, int(inputs[-1])

    def _alone(self, targets: Ids, sizes: Starts) -> Iterator[tuple[Starts, Tensor]]:
        """Yield places and their hidden vectors; each line begins anew. Similar lengths go together."""
        firsts = np.cumsum(sizes) - sizes
        order = np.argsort(sizes, kind="stable")
        at = int(np.searchsorted(sizes[order], 1))  # empty lines have nothing to score
        while at < order.size:
            longest = at
            while longest < order.size and (longest + 1 - at) * sizes[order[longest]] <= TOKENS:
                longest += 1
            lines = order[at : max(longest, at + 1)]
            step = np.arange(sizes[lines[-1]])
            there = step < sizes[lines, None]
            places = firsts[lines, None] + step
            inputs = np.full(places.shape, END, np.int64)
            inputs[:, 1:][there[:, 1:]] = targets[places[:, :-1][there[:, 1:]]]
            if lines.size == 1 and step.size > PIECE:  # one long line
                yield from ((firsts[lines[0]] + some, h) for some, h in self._along(targets[places[0]], []))
            else:
                hidden, _ = self.net.body(self._tensor(inputs), self.net.begin(lines.size))
                yield places[there], hidden[torch.from_numpy(there).to(self.device)]
            at += lines.size

    def _own(self, hidden: Tensor, targets: Ids) -> tuple[Doubles, Doubles]:
        """Return the layer's own log-probabilities of targets, and log Z, in float64."""
        found = []
        size = max(1, SCORES // self.net.head.width())
        for some, ids in zip(hidden.split(size), self._tensor(targets).split(size), strict=True):
            if self.net.head.exact_loss:
                log_p = -self.net.head(some, ids, reduction="none")
                found.append(torch.stack([log_p, torch.zeros_like(log_p)]))
                continue
            own = self.net.head.log_weight(some)
            found.append(torch.stack([own.gather(1, ids[:, None])[:, 0], own.logsumexp(dim=1)]))
        both = torch.cat(found, dim=1).double().cpu().numpy()
        return both[0], both[1]

    def _tensor(self, ids: Any) -> Tensor:
        return torch.from_numpy(np.asarray(ids, np.int64)).to(self.device)

    def begin(self, bos: bool = True) -> NetState:
        """Return the state at the beginning of a text."""
        return self._after(END, self.net.begin(1))

    def advance(self, state: NetState, word: int) -> tuple[float, int, NetState]:
        """Return log10 p(word | words before), no length, and the state after the word."""
        return float(self.log10_all(state)[word]), 0, self._after(word, state.state)

    @torch.inference_mode()
    def _after(self, word: int, state: State) -> NetState:
        hidden, after = self.net.body(self._tensor([[word]]), state)
        return NetState(hidden[0], after)

    @torch.inference_mode()
    def log10_all(self, state: NetState) -> Doubles:
        """Return log10 p(word | words before) of all words."""
        return self.net.head.log_prob(state.hidden)[0].double().cpu().numpy() / LN10
