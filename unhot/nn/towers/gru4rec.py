"""GRU4Rec: gated recurrent units over the events of a session.

    u_i = W h_i,   h_i = GRU(h_(i-1), e_i)

Reference     Hidasi, Karatzoglou, Baltrunas & Tikk, Session-based recommendations with recurrent neural
              networks, 2016; Hidasi & Karatzoglou, Recurrent neural networks with top-k gains, 2018.
"""

from typing import Any

from torch import Tensor, nn

from unhot.nn.towers.event_vectors import EventVectors
from unhot.nn.towers.tower import EventBatch, Tower, tower


@tower("gru4rec")
class GRU4RecTower(Tower):
    """Layers of gated recurrent units."""

    def __init__(self, settings: Any, columns: int) -> None:
        super().__init__(settings, columns)
        between = settings.dropout if settings.layers > 1 else 0.0
        self.cells = nn.GRU(self.dim, settings.units, settings.layers, batch_first=True, dropout=between)
        self.out = nn.Linear(settings.units, self.dim)

    def forward(self, batch: EventBatch, events: EventVectors) -> Tensor:
        """Return a vector after each event."""
        x = self.dropout(events.sums(batch.items, batch.rows, batch.weights))
        found: Tensor = self.out(self.dropout(self.cells(x)[0]))
        return found
