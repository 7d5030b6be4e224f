"""Write a large parquet file: the lines of a text, again and again, in row groups of a gigabyte.

Neither packed nor with a dictionary, so that whoever reads it has that many bytes in hand. One block of lines
is in memory: a row group is the same block several times.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

BLOCK = 50_000_000  # bytes of text
ROW_GROUP = 1_000_000_000


def main() -> None:
    """Write the file, print its figures."""
    job = json.loads(sys.argv[1])
    lines = Path(job["lines"]).read_text(encoding="utf-8").splitlines()
    size = sum(len(line.encode()) for line in lines)
    wanted = job["gigabytes"] * 1e9
    times = max(1, int(min(BLOCK, wanted) / size))  # of the lines in a block
    block = pa.table({"text": pa.array(lines * times, pa.string())})
    blocks = math.ceil(wanted / (size * times))
    together = max(1, ROW_GROUP // (size * times))
    with pq.ParquetWriter(job["out"], block.schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, blocks, together):
            group = pa.concat_tables([block] * min(together, blocks - start))
            writer.write_table(group, row_group_size=len(group))
    print(json.dumps({"lines": blocks * len(block), "bytes": Path(job["out"]).stat().st_size}))


if __name__ == "__main__":
    main()
