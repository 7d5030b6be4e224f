"""Attention in several heads, then two linear maps: a layer of a transformer."""

from torch import Tensor, nn

WIDER = 4  # units of the inner map, as a multiple


class AttentionBlock(nn.Module):
    """A layer: attention, then two linear maps."""

    def __init__(self, width: int, heads: int, wider: int = WIDER) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key_value = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out, self.inner = nn.Linear(width, width), nn.Linear(width, wider * width)
        self.outer = nn.Linear(wider * width, width)

    def attend(self, x: Tensor, known: Tensor, bias: Tensor | None = None) -> Tensor:
        """Return what each of x [batch, steps, width] finds among `known`; without bias: up to its own place.

        bias   added to the scores: [batch, heads, steps, known]
        """
        batch, steps, width = x.shape
        query = self.query(x).view(batch, steps, self.heads, -1).transpose(1, 2)
        both = self.key_value(known).view(batch, known.shape[1], 2, self.heads, -1)
        key, value = both.permute(2, 0, 3, 1, 4)
        bias = None if bias is None else bias.to(query.dtype)
        found = nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=bias, is_causal=bias is None
        )
        out: Tensor = self.out(found.transpose(1, 2).reshape(batch, steps, width))
        return out

    def mapped(self, x: Tensor) -> Tensor:
        """Return the two linear maps of the normed x."""
        found: Tensor = self.outer(self.inner(self.second(x)).relu())
        return found
