"""The groups of settings, under the name by which models from outside the package import them."""

from unhot.models.settings import (
    EpochFields as EpochFields,
)
from unhot.models.settings import (
    HistoryFields as HistoryFields,
)
from unhot.models.settings import (
    ItemFields as ItemFields,
)
from unhot.models.settings import (
    LogFields as LogFields,
)
from unhot.models.settings import (
    MarkFields as MarkFields,
)
from unhot.models.settings import (
    TextFields as TextFields,
)
from unhot.models.settings import (
    VectorFields as VectorFields,
)
from unhot.models.settings import (
    WalkFields as WalkFields,
)
from unhot.models.settings import (
    WindowFields as WindowFields,
)
