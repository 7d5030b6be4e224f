"""Neural language models: a body in PyTorch turns the words so far into a vector, an output layer predicts.

The text is one stream of words and ends of lines. It is read in `batch` parts side by side, `steps` tokens at
a time; states are carried on, and gradients end where a piece begins. See `unhot/nn/bodies/` for the bodies,
`unhot/train/torch_run.py` for the training, `unhot/nn/net_scorer.py` for probabilities.
"""

import contextlib
import copy
import dataclasses
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.errors import ConfigError, DataError, FormatError, extra
from unhot.lm.language_model import LanguageModel, check_tokenizer
from unhot.lm.scorer import with_ends
from unhot.lm.symbols import SKIPPED, STREAM_END, STREAM_SYMBOLS, model_words
from unhot.models.descent import check_descent, descent_of, has_sparse_gradients, parameter_memory, rates_of
from unhot.models.fitting import Begins, InEpochs, Reads, Tells, plan_of
from unhot.models.learned_words import under
from unhot.models.model import Model, model
from unhot.models.settings import SMALLEST_LR, DescentFields, EpochFields, Range, TextFields
from unhot.models.text_model import encoded, fit_text
from unhot.regular import named_size
from unhot.rows.paths import find_files
from unhot.rows.remote import as_path
from unhot.train.epoch_run import Validation
from unhot.train.memory_plan import check_plan
from unhot.train.streams import Streams
from unhot.types import Ids
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary

if TYPE_CHECKING:
    from unhot.nn.language_net import LanguageNet
    from unhot.nn.net_scorer import NetScorer

NET, BEST = "net.", "best."
# of a batch: copies of scores and hidden vectors; numbers of a layer that a step keeps, by its width
COPIES, AROUND = 3, 8


class LearnedNet(NamedTuple):
    """What a neural language model has learned."""

    in_vocabulary: Vocabulary  # `<unk>` and `</s>` come first
    out_vocabulary: Vocabulary
    net: "LanguageNet"
    # the tensors that resuming needs beside the parameters: optimiser, carried states, and the best net
    rest: Mapping[str, Any]

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return the parameters, and for an incomplete training the rest."""
        found = {f"{NET}{name}": tensor for name, tensor in self.net.own_state().items()}
        found |= {} if complete else self.rest
        return {name: tensor.detach().cpu().numpy() for name, tensor in found.items()}

    def facts(self) -> dict[str, Any]:
        """Return nothing."""
        return {}


@model("neural", family="language")
@dataclasses.dataclass(kw_only=True)
class NeuralLM(LanguageModel, DescentFields, EpochFields, TextFields, Model[LearnedNet, Any]):
    """A neural language model: its settings and, after `fit` or `load`, its net."""

    # what turns the words so far into a vector: bengio, cnn, gru, lstm, rnn or transformer; give settings
    # after a colon, as lstm:layers=2,units=400
    body: str = "lstm"
    output: Any = "softmax"  # the output layer; any of unhot.nn, with settings after a colon
    dim: Annotated[int, Range(1, 1 << 16)] = 256  # length of the word vectors
    # use the word vectors as output vectors, too  [default: where body and layer allow it]
    tie: bool | None = None
    dropout: Annotated[float, Range(0)] = 0.4  # the share of numbers that is dropped while it is trained
    batch: Annotated[int, Range(1, 1 << 20)] = 20  # parts of the text that are read side by side
    steps: Annotated[int, Range(1, 1 << 20)] = 35  # tokens through which gradients go back
    # initial learning rate  [default: adamw 0.002, sgd 1, adagrad 0.1]
    lr: Annotated[float | None, Range(SMALLEST_LR)] = None
    epochs: Annotated[int, Range(1, 1 << 30)] = 40  # the most passes over the text
    validation: Any = None  # text to measure after each epoch, for early stopping
    # with validation: stop after so many epochs without a better one, and keep the best
    patience: Annotated[int, Range(1)] = 5
    min_count: Annotated[int, Range(1)] = 1  # words that occur less often than this become <unk>
    # read <s>, </s> and <unk> as white space; otherwise <unk> is an unknown word, and the others are errors
    skip_symbols: bool = False
    threads: Annotated[int, Range(1, 1024)] = 2  # CPU threads; the same number gives the same bytes

    use = "try: unhot lm generate {0}, or unhot lm perplexity {0} TEXT"
    starts, own_words = True, False  # the words of the text are counted again: the model has symbols, too

    fit = fit_text

    def check(self) -> None:
        """Raise a `ConfigError` if settings are wrong."""
        extra("torch", "torch", "a neural language model")
        from unhot.nn.bodies import parse_body
        from unhot.nn.head_arguments import layer_with_bias

        self.body = parse_body(self.body).spec()
        self.layer = layer_with_bias(self.output, None)
        check_descent(self)
        if isinstance(self.validation, (str, os.PathLike)):
            self.validation = os.fspath(self.validation)

    def settings(self) -> dict[str, Any]:
        """Return the settings as plain data; validation text that is not a file is left out."""
        held_out = self.validation if isinstance(self.validation, str) else None
        output = self.output if isinstance(self.output, str) else self.layer.spec()
        return super().settings() | {"validation": held_out, "output": output}

    def prepare(self, reads: Reads, begins: Begins, tells: Tells) -> contextlib.AbstractContextManager[Any]:
        """Check device, validation text and start; encode the text, with unknown words and empty lines."""
        from unhot.train.torch_device import open_device

        open_device(self.device)
        self.layer.read_files()
        if isinstance(self.validation, str):
            for file in find_files(self.validation):
                named_size(file or Path(self.validation))  # it is read in every epoch
        if begins.frozen is not None:
            raise ConfigError("frozen: a neural language model learns all its vectors; leave frozen out")
        if begins.start is not None and not isinstance(_vectors(begins.start), Vectors):
            raise ConfigError(f"start={begins.start!r:.80}: must be Vectors, or a model that has vectors")
        skipped = SKIPPED if self.skip_symbols else ()
        return encoded(self, reads, tells, unknown=True, empty_lines=True, nulls=False, skipped=skipped)

    def training(self, data: Corpus, begins: Begins, tells: Tells) -> InEpochs[LearnedNet]:
        """Return a training of a net: of a new one, or of a copy of the one that was interrupted."""
        from unhot.train.torch_device import join_group, open_device
        from unhot.train.torch_run import TorchRun

        words, ids = model_words(data, STREAM_SYMBOLS)
        tokens = _tokens(data, ids)
        counts = np.bincount(tokens[1:], minlength=len(words))
        vocabulary = Vocabulary(words, np.maximum(counts, 1))  # `<unk>` may be missing in the text
        device, old = open_device(self.device), begins.learned
        net = self.new_net(vocabulary) if old is None else copy.deepcopy(old.net)
        if begins.start is not None:
            _start_from(net, begins.start, vocabulary)
        memory = self._memory(net, vocabulary, tokens)
        check_plan(memory, len(words), self.dim)
        net.to(device)
        learned, rest = LearnedNet(vocabulary, vocabulary, net, {}), {} if old is None else old.rest
        plan = plan_of(
            self,
            begins,
            tells,
            memory,
            **rates_of(self),
            minutes=self.minutes,
            validation=self._held_out(learned, under(rest, BEST)),
            vocabulary=len(words),
            tokens=tokens.size - 1,
        )
        source = Streams(tokens, self.batch, self.steps, self.seed, *join_group(device))
        run = TorchRun(net, source, descent_of(self), plan, device)
        if old is not None:
            run.resume({name: tensor for name, tensor in rest.items() if not name.startswith(BEST)})

        def now() -> LearnedNet:
            best = {f"{BEST}{name}": tensor for name, tensor in run.best.items()}
            return learned._replace(rest={**run.tensors(), **best})

        return InEpochs(run, now, finish=lambda _: learned)

    def new_net(self, vocabulary: Vocabulary) -> "LanguageNet":
        """Return a net for these words, with its first parameters."""
        from unhot.nn.language_net import LanguageNet
        from unhot.train.torch_device import seeded

        with seeded("cpu", self.seed % 2**63):
            return LanguageNet(
                self.body,
                self.layer,
                vocabulary.counts,
                self.dim,
                dropout=self.dropout,
                tie=self.tie,
                sparse=has_sparse_gradients(self),
            )

    def _memory(self, net: "LanguageNet", words: Vocabulary, tokens: Ids) -> dict[str, int]:
        """Return the memory that training needs, by purpose."""
        size = sum(tensor.nbytes for tensor in net.state_dict().values())
        plan = parameter_memory(self, size, watched=self.validation is not None)
        columns = self.layer.batch_columns(words.counts, self.batch * self.steps)
        numbers = columns + AROUND * net.body.layers * net.body.width
        plan["a batch"] = 4 * COPIES * self.batch * self.steps * numbers
        return plan | {"text": 2 * tokens.nbytes}

    def _held_out(self, learned: LearnedNet, best: Mapping[str, Any]) -> Validation | None:
        """Return how the validation text is measured; `best`: the best net of an interrupted training."""
        if self.validation is None:
            return None
        source = as_path(self.validation) if isinstance(self.validation, str) else self.validation

        def measure() -> tuple[float, str]:
            found = self.make_answers(learned).perplexity(source).perplexity
            return math.log(found), f"perplexity {found:,.2f}"

        return Validation(measure, self.patience, learned.net.state_dict(), best)

    def restore(self, saved: SavedModel) -> LearnedNet:
        """Make the net, and give it the parameters of a saved model."""
        from unhot.nn.headed_net import as_tensors, shapes_only

        if tuple(saved.vocabulary.words[:2]) != STREAM_SYMBOLS or not isinstance(self.tokenizer, str):
            raise FormatError(
                f"a neural model: first words {saved.vocabulary.words[:2]}, "
                f"tokenizer={self.tokenizer!r:.80}: the file is damaged"
            )
        with shapes_only():  # nothing is allocated before all shapes are right
            self.new_net(saved.vocabulary).check_state(under(saved.tensors, NET))
        net, tensors = self.new_net(saved.vocabulary), as_tensors(saved.tensors)
        net.set_state(under(tensors, NET))
        rest = {name: one for name, one in tensors.items() if not name.startswith(NET)}
        return LearnedNet(saved.vocabulary, saved.vocabulary, net, rest)

    def make_answers(self, learned: LearnedNet) -> "NetScorer":
        """Return what asks the net."""
        from unhot.nn.net_scorer import NetScorer

        check_tokenizer(self.tokenizer)
        return NetScorer(learned.in_vocabulary.words, learned.net, tokenizer=self.tokenizer)


def _vectors(start: Any) -> Any:
    """Return the vectors of a model; anything else as it is."""
    return start if isinstance(start, Vectors) else getattr(start, "vectors", start)


def _start_from(net: "LanguageNet", start: Any, vocabulary: Vocabulary) -> None:
    """Begin the embeddings of known words with given vectors."""
    vectors, dim = _vectors(start), net.body.embedding.embedding_dim
    if vectors.vector_size != dim:
        raise DataError(f"start: its vectors have {vectors.vector_size} numbers, but dim={dim}")
    known = [(i, word) for i, word in enumerate(vocabulary.words) if word in vectors]
    net.set_embeddings([i for i, _ in known], np.array([vectors[word] for _, word in known], np.float32))


def _tokens(corpus: Corpus, ids: Ids) -> Ids:
    """Return the whole text as ids, with an end before it and behind each line."""
    parts = [np.full(1, STREAM_END, np.int32)]
    parts += [with_ends(ids[shard.ids + 1], shard.starts, STREAM_END) for shard in corpus.shards]
    return np.concatenate(parts)
