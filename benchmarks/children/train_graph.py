"""Learn vectors of a graph with unhot or gensim, or walk on it, or read a large one."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from unhot.evaluate.nodes import classify_nodes
from unhot.graphs import GraphWalks, read_graph
from unhot.models.graph_vectors import GraphVectors
from unhot.vectors.store import Vectors

job = json.loads(sys.argv[1])
tool, threads = job["tool"], job["threads"]
SHAPE: dict[str, Any] = {"dim": 128, "window": 10, "walks": 10, "length": 80}
answer: dict[str, Any] = {"epochs": job["epochs"]}


def steps_of(walks: GraphWalks) -> float:
    """Return steps a second; the first call compiles."""
    GraphWalks(walks.graph, 1, 2, walks.p, walks.q).write(threads=threads)
    start = time.perf_counter()
    found = walks.write(threads=threads)
    return float(found.size / (time.perf_counter() - start))


if tool == "large":
    read_graph([("a", "b"), ("b", "c")])  # compiles
    start = time.perf_counter()
    graph = read_graph(job["file"], threads=threads)
    answer |= {"read_seconds": time.perf_counter() - start, "nodes": len(graph.vocabulary)}
    answer |= {"steps": steps_of(GraphWalks(graph, 1, 10))}
elif tool.startswith("walk"):
    p, q = map(float, tool.split()[1:])
    answer |= {"p": p, "q": q, "steps": steps_of(GraphWalks(read_graph(job["edges_file"]), 10, 80, p, q))}
else:
    graph = read_graph(job["edges_file"])
    if tool == "gensim":
        from gensim.models import Word2Vec

        text, words = Path(job["folder"]) / "walks.txt", graph.vocabulary.words
        walks = GraphWalks(graph, SHAPE["walks"], SHAPE["length"]).write(threads=threads)
        with text.open("w", encoding="utf-8") as file:
            file.writelines(" ".join(words[i] for i in walk if i >= 0) + "\n" for walk in walks.tolist())
        start = time.perf_counter()
        shape = {"vector_size": SHAPE["dim"], "window": SHAPE["window"], "negative": 5, "sg": 1}
        more = {"epochs": job["epochs"], "workers": threads, "min_count": 1, "sample": 0}
        peer = Word2Vec(corpus_file=str(text), **shape, **more)
        answer["seconds"] = time.perf_counter() - start
        vectors = Vectors(peer.wv.index_to_key, peer.wv.vectors)
    else:
        settings = {**SHAPE, "epochs": job["epochs"], "output": "negative:k=7", "lr": 0.05}
        model = GraphVectors(threads=threads, **(settings if tool == "unhot" else {}))
        model.warm_up()
        start = time.perf_counter()
        model.fit(graph)
        answer |= {"seconds": time.perf_counter() - start, "epochs": model.epochs}
        vectors = model.vectors
    found = classify_nodes(vectors, job["labels"])
    answer |= {"micro_f1": found.micro_f1, "macro_f1": found.macro_f1}
print(json.dumps(answer))
