"""Pictures of results. Each function draws one picture into an axis of matplotlib, and returns the axis.

They need the extra `plot`; importing them does not.
"""

from unhot.plots.classification import confusion, reliability

__all__ = ["confusion", "reliability"]
