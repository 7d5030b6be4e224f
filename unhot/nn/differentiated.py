"""The head of the differentiated softmax: a weight of its own width for each band of words."""

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
    """One softmax over all bands; the weight of a band is [words of the band, width of its slice]."""

    layer: Differentiated
    scores_all_words = True
    untied = "its rows are narrower than the embedding's"

    order: Tensor  # int64 [words]: the ids by rank
    rank: Tensor  # int64 [words]: the rank of each id

    def make(self, counts: Counts) -> None:
        """Make the weights of the bands."""
        bands = self.layer.bands(counts, self.dim)
        self.slices = [(band.first, band.last) for band in bands]
        self.weights = nn.ParameterList(
            nn.Parameter(torch.empty(band.ids.size, band.last - band.first)) for band in bands
        )
        self.bias = nn.Parameter(torch.empty(self.words)) if self.layer.bias else None
        order = torch.cat([torch.from_numpy(band.ids.astype("int64")) for band in bands])
        self.keep(order=order, rank=order.argsort())

    def matrices(self) -> list[nn.Parameter]:
        """Return the weights of the bands; each starts as that of a linear layer."""
        return list(self.weights)

    def scores(self, hidden: Tensor) -> Tensor:
        """Return the scores of all words by rank, each band from its slice: [batch, words]."""
        parts = [
            functional.linear(hidden[:, first:last], weight)
            for (first, last), weight in zip(self.slices, self.weights, strict=True)
        ]
        scores = widened(torch.cat(parts, dim=1))
        return scores if self.bias is None else scores + self.bias[self.order]

    def losses(self, batch: FlatBatch) -> Tensor:
        """Return the loss of each example: T log Z - sum_t s(t)."""
        scores = self.scores(batch.hidden)
        own = scores.gather(1, self.rank[batch.target])
        return ((scores.logsumexp(dim=1, keepdim=True) - own) * batch.known).sum(dim=1)

    def log_weight(self, hidden: Tensor) -> Tensor:
        """Return the scores of all words by id."""
        return self.scores(hidden)[:, self.rank]

    @torch.no_grad()
    def effective(self) -> OutputRows:
        """Return the rows of all words, with zeros outside their slices."""
        rows = self.weights[0].new_zeros(self.words, self.dim)
        for ids, (first, last), weight in self._bands():
            rows[ids, first:last] = weight
        return OutputRows(rows, None if self.bias is None else self.bias.detach(), None)

    @torch.no_grad()
    def begin(self, rows: OutputRows) -> None:
        """Set the weights from a matrix of output vectors; numbers outside the slices are ignored."""
        self.check_rows(rows)
        for ids, (first, last), weight in self._bands():
            weight.copy_(rows.out_vectors[ids.to(rows.out_vectors.device), first:last])
        if self.bias is not None and rows.out_bias is not None:
            self.bias.copy_(rows.out_bias)

    def _bands(self) -> list[tuple[Tensor, tuple[int, int], nn.Parameter]]:
        words = self.order.split([weight.shape[0] for weight in self.weights])
        return list(zip(words, self.slices, self.weights, strict=True))
