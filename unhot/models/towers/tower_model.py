"""Recommenders with a tower: a net turns the events of a history into user vectors, a layer predicts items.

    s(i) = u . v_i + b_i        u: the user vector, v_i: the output vector of item i

`unhot/nn/towers/` has the towers, `unhot/train/histories.py` their examples. They learn by the trainer of
all nets (`unhot/train/torch_run.py`), through any output layer. They recommend by s: exactly, or by a graph.
"""

import contextlib
import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from unhot.errors import NothingLearned, extra
from unhot.items.feature_rows import FeatureRows, saved_features, side_rows
from unhot.items.kept_log import LogRecord, SideValues
from unhot.models.descent import check_descent, descent_of, has_sparse_gradients, parameter_memory, rates_of
from unhot.models.fitting import Begins, InEpochs, Reads, Tells, plan_of
from unhot.models.item_vectors import found_epochs, saved_epochs, validation_of
from unhot.models.learned_words import under
from unhot.models.log_data import LogData, log_data
from unhot.models.recommender_model import RecommenderModel
from unhot.models.settings import DescentFields, EpochFields, FeatureFields, Range
from unhot.models.text_model import check_scratch
from unhot.models.towers.tower_answers import MATRICES, NET, LearnedTower, TowerAnswers, event_log
from unhot.outputs import parse_output
from unhot.train.epoch_run import Validation
from unhot.train.histories import EventLog, HistoryBatches, ages_of
from unhot.train.memory_plan import check_plan
from unhot.types import Counts, Floats
from unhot.vectors.formats.directory import SavedModel

if TYPE_CHECKING:
    from unhot.nn.tower_net import TowerNet

BEST = "best."
AROUND = 12  # numbers of a layer that a step keeps for each event, by its width


@dataclasses.dataclass(kw_only=True)
class ExampleFields:
    """How many examples a history gives."""

    # examples of each line in an epoch, drawn at random, so that all users count alike; 0: one for each event
    examples: Annotated[int, Range(0, 1 << 20)] = 20


@dataclasses.dataclass(kw_only=True)
class TowerModel(FeatureFields, DescentFields, EpochFields, RecommenderModel):
    """Settings of a recommender with a tower."""

    # the output layer; any of unhot.nn, with settings after a colon
    output: Any = "sampled:k=1000,normalized=true,temperature=0.1"
    dim: Annotated[int, Range(1, 1 << 16)] = 64  # length of the vectors of items and users
    # use the item vectors as output vectors, too  [default: where the layer allows it]
    tie: bool | None = None
    length: Annotated[int, Range(1, 10_000)] = 50  # events of a history that the model reads
    buckets: Annotated[int, Range(0, 1 << 16)] = 10  # of features that are numbers; 0: they are normalized
    dropout: Annotated[float, Range(0)] = 0.3  # dropout probability
    batch: Annotated[int, Range(1, 1 << 20)] = 64  # histories in a training step
    epochs: Annotated[int, Range(1, 1 << 30)] = 100  # maximum number of passes over the log
    # with a split: stop after so many epochs without a better one on validation, and keep the best
    patience: Annotated[int, Range(1)] = 10
    warmup: Annotated[int, Range(0)] = 20  # steps in which the rate rises
    clip: Annotated[float, Range(0)] = 1.0  # maximum gradient norm; 0: none
    approximate: bool = False  # recommend by a graph (HNSW, extra `ann`), which may miss an item

    uses_columns = True
    answer: ClassVar[str] = "next"

    def check(self) -> None:
        """Raise a `ConfigError` if settings contradict each other; find the output layer."""
        super().check()
        extra("torch", "torch", f"a {self.name} model")
        from unhot.nn.head_arguments import layer_with_bias

        self.layer = layer_with_bias(parse_output(self.output), None)
        check_descent(self)

    @contextlib.contextmanager
    def prepare(self, reads: Reads, begins: Begins, tells: Tells) -> Iterator[LogData]:
        """Check the device, read the log, and find the number of epochs if the model is fitted again."""
        from unhot.train.torch_device import open_device

        check_scratch(self, begins)
        open_device(self.device)
        self.layer.read_files()
        with log_data(self, reads, tells) as data:
            yield data._replace(epochs_found=found_epochs(self, data, begins, tells))

    def training(self, data: LogData, begins: Begins, tells: Tells) -> InEpochs[LearnedTower]:
        """Return a training of a net: of a new one, or of a copy of the one that was interrupted."""
        from unhot.train.torch_device import join_group, open_device
        from unhot.train.torch_run import TorchRun

        log, old = data.text, begins.learned
        device = open_device(self.device)
        if old:
            net, features = copy.deepcopy(old.net), old.features
        else:
            features = [FeatureRows.learned(*each, self.buckets) for each in log.features.items()]
            net = self.new_net(log.items.counts, data.record.kept.sides, features)
        events = event_log(log.ids_of_lines, log.starts, log.columns, features)
        events = events._replace(ages=ages_of(log.times))
        source = HistoryBatches(
            events,
            length=self.length,
            batch=self.batch,
            examples=getattr(self, "examples", None),
            seed=self.seed,
            process=join_group(device),
        )
        if not source.size:
            raise NothingLearned(
                "no user and no session has two events, so there is nothing to learn from: check which "
                "columns are those of users and sessions (--user, --session)"
            )
        memory = self._memory(net, log.items.counts, events)
        check_plan(memory, len(log.items), self.dim)
        net.to(device)
        rest = old.rest if old else {}
        learned = LearnedTower(
            layer=self.layer,
            in_vocabulary=log.items,
            out_vocabulary=log.items,
            net=net,
            record=data.record,
            features=features,
            epochs_found=data.epochs_found,
        )
        measure = validation_of(self, data)
        watch = measure and Validation(
            lambda: measure(learned.as_it_is()), self.patience, net.state_dict(), under(rest, BEST)
        )
        plan = plan_of(
            self,
            begins,
            tells,
            memory,
            epochs=data.epochs_found or self.epochs,
            minutes=self.minutes,
            validation=watch,
            vocabulary=len(log.items),
            examples=source.size,
            **rates_of(self),
        )
        run = TorchRun(net, source, descent_of(self), plan, device)
        if old:
            run.resume({name: tensor for name, tensor in rest.items() if not name.startswith(BEST)})

        def now() -> LearnedTower:
            best = {f"{BEST}{name}": tensor for name, tensor in run.best.items()}
            return dataclasses.replace(learned, rest={**run.tensors(), **best})

        return InEpochs(run, now, finish=lambda _: learned.as_it_is())

    def new_net(self, counts: Counts, sides: SideValues, features: Sequence[FeatureRows]) -> "TowerNet":
        """Return a net with its first parameters."""
        from unhot.nn.tower_net import TowerNet
        from unhot.nn.towers import EventVectors, tower_of
        from unhot.train.torch_device import seeded

        rows, own = sum(feature.size for feature in features), side_rows(sides, counts.size, self.buckets)
        with seeded("cpu", self.seed % 2**63):
            events = EventVectors(counts.size, self.dim, own, rows)
            sparse = has_sparse_gradients(self)
            tower = tower_of(type(self))(self, events.columns)
            return TowerNet(tower, events, self.layer, counts, tie=self.tie, sparse=sparse)

    def _memory(self, net: "TowerNet", counts: Counts, events: EventLog) -> dict[str, int]:
        """Return the memory that training needs, by purpose."""
        size = sum(tensor.nbytes for tensor in net.own_state().values())
        asked = self.batch * (self.length if net.tower.causal else 1)
        numbers = self.batch * self.length * AROUND * self.dim
        numbers += asked * self.layer.batch_columns(counts, asked)
        held = sum(each.nbytes for each in events if each is not None)
        plan = parameter_memory(self, size, watched=self.split != "none")
        return {**plan, "a batch": 4 * numbers, "events": held}

    def restore(self, saved: SavedModel) -> LearnedTower:
        """Make the net, and give it the parameters of a saved model."""
        from unhot.nn.headed_net import as_tensors, shapes_only

        items, own = saved.vocabulary, {name: own for own, name in MATRICES.items()}
        tensors = {own.get(name, name): tensor for name, tensor in saved.tensors.items()}
        record = LogRecord.of_saved(saved.config, tensors, len(items))
        features = saved_features(tensors)
        made: Any = (items.counts, record.kept.sides, features)
        with shapes_only():  # nothing is allocated before all shapes are right
            self.new_net(*made).check_state(under(tensors, NET))
        net = self.new_net(*made)
        net.set_state(as_tensors(under(tensors, NET)))
        parts = ("optimizer.", "carried.", BEST)
        rest = as_tensors({name: one for name, one in tensors.items() if name.startswith(parts)})
        return LearnedTower(
            layer=self.layer,
            in_vocabulary=items,
            out_vocabulary=items,
            net=net,
            record=record,
            features=features,
            epochs_found=saved_epochs(saved),
            rest=rest,
        )

    def make_answers(self, learned: LearnedTower) -> TowerAnswers:
        """Return what recommends by the net."""
        return TowerAnswers(self, learned, leaves_out_seen=self.leaves_out_seen(learned.record))

    def user_vectors(self, whom: Sequence[str] | Sequence[Sequence[Any]]) -> Floats:
        """Return the vectors of users, or of histories, to search the output vectors of items with.

        They are [n, dim]; or [n, interests, dim] if the model has several interests. Where the model knows
        nothing it is the vector of an empty history.
        """
        asked = [*whom]
        users = all(isinstance(who, str) for who in asked)
        look_up: Any = self.answers.of_users if users else self.answers.of_lists
        found: Floats = self.item_answers.user_vectors(look_up(asked)[0])
        return found
