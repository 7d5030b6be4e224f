"""A neural language model as a module: a body, and an output layer on its hidden vectors."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from unhot.errors import ConfigError
from unhot.lm.symbols import IGNORED
from unhot.nn.bodies import Body, parse_body
from unhot.nn.bodies.body import State
from unhot.nn.headed_net import HeadedNet
from unhot.outputs import OutputLayer
from unhot.types import Counts, Floats


class LanguageNet(HeadedNet):
    """Predicts each next word of a text.

    tie     use the embeddings as output vectors; None: wherever the body and the layer allow it
    sparse  make sparse gradients of embeddings and output vectors, where the layer does not score all words
    """

    def __init__(
        self,
        body: str,
        output: str | OutputLayer,
        counts: Counts,
        dim: int,
        *,
        dropout: float = 0.0,
        tie: bool | None = None,
        sparse: bool = False,
    ) -> None:
        super().__init__()
        self.body: Body = parse_body(body).build(counts.size, dim, dropout)
        fits = self.body.ties and self.body.width == dim
        if tie and not fits:
            raise ConfigError(
                f"tie=True: the hidden vectors of {self.body.spec()} have {self.body.width} numbers and "
                f"cannot share those of embeddings with {dim}; leave tie out, or set units={dim}"
            )
        weight: Any = self.body.embedding.weight
        tied, wanted = fits if tie is None else tie, tie is not None
        self.add_head(output, counts, self.body.width, weight, tie=tied, wanted=wanted)
        if sparse and not self.head.scores_all_words:
            self.head.sparse = self.body.embedding.sparse = True

    @torch.no_grad()
    def set_embeddings(self, ids: Sequence[int], rows: Floats) -> None:
        """Set the embeddings of some words."""
        self.body.embedding.weight[torch.tensor(ids)] = torch.from_numpy(rows)

    def begin(self, batch: int) -> State:
        """Return the state before any word."""
        return self.body.begin(batch)

    def forward(self, ids: Tensor, target: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the mean loss of targets [batch, steps], each predicted from the ids up to its place.

        Also return the state to go on from.
        """
        hidden, after = self.body(ids, state)
        self.enter_part(target[target != IGNORED])
        return self.head(hidden, target, ignore_index=IGNORED), tuple(one.detach() for one in after)
