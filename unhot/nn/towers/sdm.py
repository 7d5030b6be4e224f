"""SDM: what a user does now, fused with what the user likes.

    x = LSTM over the short session,   y = self-attention in several heads over x
    s = sum_k softmax_k(y_k . e_u) y_k                                    what the user does now
    z_f = sum_k softmax_k(g_k . e_u) g_k                        over the user's set of values g_k of column f
    p = tanh(W [z_f, ...] + b)                                            what the user likes
    G = sigmoid(W1 e_u + W2 s + W3 p + b),   u = (1 - G) p + G s          elementwise

The short session is what came after the last pause, at most the last `short` events; sets are made of the
events before it: of their items, and of the side values of their items. e_u is a learned vector plus the
values of the last event.

Reference     Lv et al., SDM: sequential deep matching model for online large-scale recommender system, 2019.
"""

from typing import Any

import torch
from torch import Tensor, nn

from unhot.errors import ConfigError
from unhot.nn.towers.event_vectors import WIDTH, EventVectors, attended, sets_of
from unhot.nn.towers.tower import EventBatch, Tower, at_place, tower


@tower("sdm")
class SDMTower(Tower):
    """A short session, sets of a long history, and a gate between them."""

    causal = False

    def __init__(self, settings: Any, columns: int) -> None:
        super().__init__(settings, columns)
        if self.dim % settings.heads:
            raise ConfigError(f"heads={settings.heads}: must divide dim={self.dim}")
        self.short, self.pause = settings.short, settings.pause
        self.long = settings.long_term
        self.user = nn.Parameter(torch.empty(self.dim))
        if not self.user.is_meta:
            nn.init.normal_(self.user, std=WIDTH)
        self.cells = nn.LSTM(self.dim, self.dim, batch_first=True)
        self.attention = nn.MultiheadAttention(self.dim, settings.heads, batch_first=True)
        if self.long:
            self.likes = nn.Linear((1 + columns) * self.dim, self.dim)
            self.gate = nn.Linear(3 * self.dim, self.dim)

    def forward(self, batch: EventBatch, events: EventVectors) -> Tensor:
        """Return a vector after the last event."""
        context = events.of_features(batch.rows, batch.weights)
        user = self.user.expand(len(batch.items), -1)
        user = user if context is None else user + at_place(context, batch.last)
        now = self.sessions(batch)
        session = self._session(batch, events, now, user)
        if not self.long:
            return session[:, None]
        sets = self._sets(batch.items.masked_fill(now, -1), events, user)
        likes = self.likes(torch.cat(sets, dim=1)).tanh()
        gate = self.gate(torch.cat([user, session, likes], dim=1)).sigmoid()
        found: Tensor = (1 - gate) * likes + gate * session
        return found[:, None]

    def sessions(self, batch: EventBatch) -> Tensor:
        """Return which events are of the short session: bool [batch, steps]."""
        now: Tensor = batch.there & (batch.numbers < self.short)
        if not self.pause or batch.gaps is None:
            return now
        late: Tensor = (batch.gaps > self.pause) & batch.there
        pauses = late.long().flip(1).cumsum(dim=1).flip(1)  # from each event on, its own included
        return now & (pauses == late.long())

    def _session(self, batch: EventBatch, events: EventVectors, now: Tensor, user: Tensor) -> Tensor:
        """Return what the user does now."""
        number = now.sum(dim=1, keepdim=True)
        steps = torch.arange(self.short, device=now.device)
        there = steps < number
        places = (batch.last - number + 1 + steps).clamp(min=0, max=now.shape[1] - 1)
        items = batch.items.gather(1, places).masked_fill(~there, -1)
        x = self.cells(self.dropout(events.sums(items, None, None)))[0]
        padding = ~there & (number > 0)  # of an empty session nothing is left out: a softmax needs a score
        y = self.attention(x, x, x, key_padding_mask=padding, need_weights=False)[0]
        owner, place = there.nonzero().unbind(dim=1)
        return attended(owner, self.dropout(y)[owner, place], user)

    def _sets(self, items: Tensor, events: EventVectors, user: Tensor) -> list[Tensor]:
        """Return what the user prefers in the set of items, and in the set of values of each side column."""
        owner, place = (items >= 0).nonzero().unbind(dim=1)
        ids = items[owner, place]
        sets = [attended(*sets_of(owner, ids, events.items(ids), events.items.num_embeddings), user)]
        if events.columns:
            which, entries = events.entries_of(ids)
            cell = owner[which] * events.columns + events.column_of[entries]
            found = sets_of(
                cell, events.rows[entries], events.of_entries(entries), events.sides.num_embeddings
            )
            queries = user.repeat_interleave(events.columns, dim=0)
            sets += attended(*found, queries).reshape(len(user), events.columns, -1).unbind(dim=1)
        return [self.dropout(each) for each in sets]
