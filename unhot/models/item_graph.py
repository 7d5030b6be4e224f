"""Item vectors from walks on the graph of sessions: what followed what, how often (BGE of the EGES paper).

    X[i, j] = how often item j came next after item i in a line of the log

A walk strings together what different users did, so items come near each other that no user had together.

Reference: Wang et al., Billion-scale commodity embedding for e-commerce recommendation in Alibaba, 2018.
"""

import dataclasses

from unhot.graphs.reading import read_graph
from unhot.models.engine import near_words
from unhot.models.fitting import Begins, InEpochs, Tells
from unhot.models.graph_vectors import check_walks, walk_wiring, walks_on
from unhot.models.item_vectors import (
    LearnedItems,
    answers_of_items,
    item_training,
    predict_item,
    prepare_items,
    restore_items,
)
from unhot.models.log_data import LogData
from unhot.models.model import model
from unhot.models.recommender_model import RecommenderModel
from unhot.models.settings import ItemWalkFields
from unhot.models.windows import check_windows, warm_up_windows
from unhot.outputs import parse_output

LR = 0.05  # the default learning rate


@model("graph", family="recommend")
@dataclasses.dataclass(kw_only=True)
class ItemGraph(ItemWalkFields, RecommenderModel):
    """Item vectors from walks on the graph of sessions."""

    directed: bool = True  # walks only go from an item to one that came later

    unit = "steps"
    starts = True

    predict_word = predict_item
    prepare = prepare_items
    make_answers = answers_of_items
    restore = restore_items
    warm_up = warm_up_windows

    def check(self) -> None:
        """Raise a `ConfigError` if settings contradict each other; find the output layer."""
        super().check()
        self.layer = parse_output(self.output)
        check_walks(self)
        check_windows(self)

    wiring = walk_wiring

    def training(self, data: LogData, begins: Begins, tells: Tells) -> InEpochs[LearnedItems]:
        """Return a training on walks."""
        walks = walks_on(self, read_graph(data.text, directed=self.directed), tells)
        return item_training(self, self.wiring(), data, near_words(walks), begins, tells, usual_lr=LR)
