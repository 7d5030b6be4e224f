"""Heads under DistributedDataParallel: what is counted is counted in all processes."""

import json
import subprocess
import sys

import pytest
from grids import soak_only

pytest.importorskip("torch")

PROCESS = """
import json, os, sys, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from unhot.nn import OutputHead

rank, place, specs = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
dist.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=2)
targets = [[0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 4, -100]], [[3, 3, 3, 3, 3, 3], [4, 4, 4, 4, 4, 4]]
found = []
for spec in specs:
    torch.manual_seed(0)
    head = OutputHead(spec, 4, [5, 4, 3, 2, 1])
    model = DistributedDataParallel(head)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(10 + rank)
    hidden = torch.randn(6, 4)
    for target in targets[rank]:
        optimizer.zero_grad()
        model(hidden, torch.tensor(target)).backward()
        optimizer.step()
    found.append([head.seen.tolist(), head.weight.sum().item()])
print(json.dumps(found), flush=True)
dist.barrier()
os._exit(0)  # gloo's threads may abort an orderly end
"""


# two processes that import torch take four seconds; tests/models trains a net in two processes
@soak_only
def test_counters_and_weights_are_the_same_in_all_processes(tmp_path):
    specs = ["in_batch", "mixed:k=3,normalized=true", "negative:k=3,noise=learned", "sampled:k=3"]
    command = [sys.executable, "-W", "ignore", "-c", PROCESS]
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path / "store"), *specs],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    outs = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outs
    for spec, one, other in zip(specs, *(json.loads(out) for out, _ in outs), strict=True):
        assert one[0] == other[0] == ([4, 4, 4, 8, 8] if "sampled" not in spec else []), spec
        assert one[1] == pytest.approx(other[1], rel=1e-6), spec
