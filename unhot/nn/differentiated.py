"""The head of the differentiated softmax: a narrow weight for each band of words."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from unhot.nn.head import OutputHead, OutputRows, head_for
from unhot.nn.head_arguments import FlatBatch
from unhot.nn.number_types import widened
from unhot.outputs.differentiated import Differentiated
from unhot.types import Counts


@head_for(Differentiated)
class DifferentiatedHead(OutputHead):
    """Band j has the weight [words of the band, width of its slice]."""

    layer: Differentiated
    scores_all_words = True
    untied = "its rows are narrower than the embedding's"

    order: Tensor  # int64 [words]: ids by rank
    rank: Tensor  # int64 [words]: of each id

    def make(self, counts: Counts) -> None:
        """Weights of the bands."""
        bands = self.layer.bands(counts, self.dim)
        self.slices = [(band.first, band.last) for band in bands]
        self.weights = nn.ParameterList(
            nn.Parameter(torch.empty(band.ids.size, band.last - band.first)) for band in bands
        )
        self.bias = nn.Parameter(torch.empty(self.words)) if self.layer.bias else None
        order = torch.cat([torch.from_numpy(band.ids.astype("int64")) for band in bands])
        self.keep(order=order, rank=order.argsort())

    def matrices(self) -> list[nn.Parameter]:
        """As if every band were a linear layer."""
        return list(self.weights)

    def scores(self, hidden: Tensor) -> Tensor:
        """Each band of its slice, the words by rank: [batch, words]."""
        parts = [
            functional.linear(hidden[:, first:last], weight)
            for (first, last), weight in zip(self.slices, self.weights, strict=True)
        ]
        scores = widened(torch.cat(parts, dim=1))
        return scores if self.bias is None else scores + self.bias[self.order]

    def losses(self, batch: FlatBatch) -> Tensor:
        """T log Z - sum_t s(t)."""
        scores = self.scores(batch.hidden)
        own = scores.gather(1, self.rank[batch.target])
        return ((scores.logsumexp(dim=1, keepdim=True) - own) * batch.known).sum(dim=1)

    def log_weight(self, hidden: Tensor) -> Tensor:
        """The score."""
        return self.scores(hidden)[:, self.rank]

    @torch.no_grad()
    def effective(self) -> OutputRows:
        """Zero outside the slices."""
        rows = self.weights[0].new_zeros(self.words, self.dim)
        for ids, (first, last), weight in self._bands():
            rows[ids, first:last] = weight
        return OutputRows(rows, None if self.bias is None else self.bias.detach(), None)

    @torch.no_grad()
    def begin(self, rows: OutputRows) -> None:
        """What is outside the slices is left out."""
        self.check_rows(rows)
        for ids, (first, last), weight in self._bands():
            weight.copy_(rows.out_vectors[ids.to(rows.out_vectors.device), first:last])
        if self.bias is not None and rows.out_bias is not None:
            self.bias.copy_(rows.out_bias)

    def _bands(self) -> list[tuple[Tensor, tuple[int, int], nn.Parameter]]:
        words = self.order.split([weight.shape[0] for weight in self.weights])
        return list(zip(words, self.slices, self.weights, strict=True))
