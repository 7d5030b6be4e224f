"""Files on other machines: a real server of S3 on the loopback, and fsspec's files in memory."""

import gzip
import io
import json
import logging
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.fs
import pyarrow.parquet
import pytest
from commands import run

import unhot
from unhot.errors import ConfigError, DataError, FormatError
from unhot.rows.paths import find_files
from unhot.rows.remote import RemotePath, as_path, hidden

moto = pytest.importorskip("moto.server")
logging.getLogger("werkzeug").setLevel("ERROR")

KEY, SECRET = "AKIAVERYSECRETKEY", "S3cr3t/with+slash"
SHORT = ("--dim", "8", "--epochs", "1", "--min-count", "1", "--threads", "1")
TEXT = "".join(f"the {name} sat on the {place}\n" for name in ("cat", "dog") for place in ("mat", "hat")) * 25


@pytest.fixture(scope="module")
def server():
    """A server of S3; the host and port where it listens."""
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{host}:{port}"
    server.stop()


@pytest.fixture
def s3(server, monkeypatch, tmp_path):
    """A new bucket, as a file system of Arrow; the environment says where the server is, and who asks."""
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{server}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_REGION": "us-east-1",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "UNHOT_CACHE": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    system = pyarrow.fs.S3FileSystem(
        endpoint_override=server, scheme="http", region="us-east-1", allow_bucket_creation=True
    )
    bucket = f"b{uuid.uuid4().hex}"
    system.create_dir(bucket)
    return Bucket(system, bucket)


class Bucket:
    """A bucket: what is in it, by key."""

    def __init__(self, system, name):
        self.system, self.name = system, name

    def address(self, key=""):
        return f"s3://{self.name}/{key}".rstrip("/")

    def put(self, key, data):
        with self.system.open_output_stream(f"{self.name}/{key}", compression=None) as file:
            file.write(data.encode() if isinstance(data, str) else data)
        return self.address(key)

    def get(self, key):
        with self.system.open_input_file(f"{self.name}/{key}") as file:
            return file.read()

    def keys(self):
        found = self.system.get_file_info(pyarrow.fs.FileSelector(self.name, recursive=True))
        return sorted(each.path.partition("/")[2] for each in found if each.is_file)


def table_bytes(table, kind):
    out = io.BytesIO()
    if kind == "parquet":
        pyarrow.parquet.write_table(table, out)
    else:
        pyarrow.feather.write_feather(table, out)
    return out.getvalue()


def ok(*arguments, **how):
    ended = run(*arguments, **how)
    assert ended.returncode == 0, ended.stderr
    return ended


LINES = [line.split() for line in TEXT.splitlines()]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("corpus.txt", TEXT.encode()),
        ("corpus.txt.gz", gzip.compress(TEXT.encode())),
        ("no-ending", gzip.compress(TEXT.encode())),
        ("a file.csv", ("text,number\n" + "".join(f"{line},1\n" for line in TEXT.splitlines())).encode()),
        ("x.jsonl", "".join(json.dumps({"text": line}) + "\n" for line in TEXT.splitlines()).encode()),
        ("x.parquet", table_bytes(pa.table({"text": TEXT.splitlines(), "n": range(100)}), "parquet")),
        ("parquet-without-ending", table_bytes(pa.table({"text": TEXT.splitlines()}), "parquet")),
        ("x.feather", table_bytes(pa.table({"text": TEXT.splitlines()}), "arrow")),
    ],
    ids=str.split("text gz packed csv jsonl parquet by-its-bytes feather"),
)
def test_any_file_is_read_as_if_it_were_here(s3, tmp_path, name, data):
    address = s3.put(f"deep/{name}", data)
    (tmp_path / name).write_bytes(data)
    there, here = (unhot.corpus.encode(source, min_count=1) for source in (address, tmp_path / name))
    assert there.vocabulary.words == here.vocabulary.words
    assert there.vocabulary.counts.tolist() == here.vocabulary.counts.tolist()
    assert there.words == here.words == 600


def test_a_file_larger_than_a_request_keeps_its_bytes(s3):
    data = np.random.default_rng(1).integers(97, 123, 3 << 20, np.uint8).tobytes()
    file = as_path(s3.put("large", data))
    with file.found()[0].open() as opened:
        assert opened.read() == data
        opened.seek(-7, 2)
        assert opened.read() == data[-7:]


def test_folders_and_patterns_are_listed_in_order(s3):
    for key in ("t/b.txt", "t/a.txt", "t/sub/c.txt", "t/.unhot-1-x", "t/d[1].csv", "u/a.txt", "t2/a.txt"):
        s3.put(key, "x")
    s3.system.create_dir(f"{s3.name}/t/empty")

    def names(pattern):
        return [str(file).removeprefix(s3.address()) for file in find_files(s3.address(pattern))]

    assert names("t") == names("t/") == ["/t/a.txt", "/t/b.txt", "/t/d[1].csv", "/t/sub/c.txt"]
    assert names("t/*.txt") == ["/t/a.txt", "/t/b.txt"]
    assert names("[!t]/*.txt") == ["/u/a.txt"]
    assert names("t*/a.txt") == ["/t/a.txt", "/t2/a.txt"]
    assert names("t/s*") == ["/t/sub/c.txt"]
    assert names("t/d[1].csv") == ["/t/d[1].csv"]


def test_a_model_is_saved_replaced_and_loaded(s3, tmp_path):
    source, model = s3.put("corpus.txt", TEXT), s3.address("models/m")
    ended = ok("train", source, "-o", model, *SHORT)
    assert f"saved to {model}" in ended.stderr
    keys = s3.keys()
    version = s3.get("models/m/CURRENT").decode().strip()
    assert set(keys) == {"corpus.txt", "models/m/CURRENT"} | {
        f"models/m/{version}/{name}"
        for name in ("config.json", "manifest.json", "model.safetensors", "vocab.txt")
    }
    found = json.loads(ok("neighbors", model, "cat", "-n", "3", "--json").stdout)
    loaded = unhot.load(model, verify=True)
    assert isinstance(loaded.learned.params.in_vectors, np.ndarray)
    assert {answer["word"] for answer in found["neighbors"]} <= set(loaded.vocabulary.words)
    for command in (("info", model), ("verify", model)):
        ok(*command)
    ok("train", source, "-o", "here", *SHORT)
    here = unhot.load("here")
    np.testing.assert_array_equal(here.learned.params.in_vectors, loaded.learned.params.in_vectors)

    ok("train", source, "-o", model, *SHORT, "--seed", "7")
    again = unhot.load(model)
    assert (again.learned.params.in_vectors != loaded.learned.params.in_vectors).any()
    assert f"models/m/{version}/config.json" in s3.keys()  # for those that are copying it
    again.save(model)
    assert f"models/m/{version}/config.json" not in s3.keys()
    assert len([key for key in s3.keys() if key.endswith("config.json")]) == 2
    np.testing.assert_array_equal(
        unhot.load(model).learned.params.in_vectors, again.learned.params.in_vectors
    )


def test_a_copy_is_used_again_and_a_damaged_one_is_made_again(s3, tmp_path, monkeypatch):
    unhot.Vectors(["a", "b"], np.eye(2, dtype=np.float32)).save(s3.address("v"))
    copied = []
    copy = RemotePath.copy
    monkeypatch.setattr(RemotePath, "copy", lambda path, file: (copied.append(file.name), copy(path, file)))
    assert unhot.Vectors.load(s3.address("v")).words == ["a", "b"]
    assert copied == ["config.json", "model.safetensors", "vocab.txt"]
    unhot.Vectors.load(s3.address("v"))
    assert len(copied) == 3
    [words] = (tmp_path / "cache").rglob("vocab.txt")
    words.write_text("a\nc\n")
    assert unhot.Vectors.load(s3.address("v")).words == ["a", "b"]
    assert len(copied) == 6
    [key] = [key for key in s3.keys() if key.endswith("vocab.txt")]
    words.unlink()
    s3.put(key, "a\nc\n")
    with pytest.raises(
        FormatError, match=f"s3://{s3.name}/v/v[0-9]+/vocab.txt: bytes 0..4: the sha256 differs"
    ):
        unhot.Vectors.load(s3.address("v"))


@pytest.mark.parametrize("name", ["v.txt", "v.bin", "v.npy", "v.safetensors"])
def test_files_of_vectors_are_written_and_read(s3, name):
    unhot.Vectors(["a", "b"], np.eye(2, dtype=np.float32)).save("v")
    ok("convert", "v", s3.address(name))
    assert any(key.startswith("v.") for key in s3.keys())
    if name == "v.npy":  # its words are in a second file
        assert "v.words.txt" in s3.keys()
    else:
        assert unhot.Vectors.load(s3.address(name)).words == ["a", "b"]
        ok("convert", s3.address(name), "back.txt")
        assert unhot.Vectors.load("back.txt").words == ["a", "b"]


def test_a_model_does_not_replace_what_is_none(s3, monkeypatch):
    s3.put("data/x.txt", TEXT)
    ended = run("train", s3.address("data/x.txt"), "-o", s3.address("data"), *SHORT)
    assert ended.returncode == 1
    assert f"{s3.address('data')}: this exists and is not an unhot model" in ended.stderr
    copy = RemotePath.copy

    def denied(path, file, **how):
        with path.explained():
            if how:
                raise OSError("denied")
            copy(path, file)

    monkeypatch.setattr(RemotePath, "copy", denied)
    ended = run("train", s3.address("data/x.txt"), "-o", s3.address("model"), *SHORT)
    assert f"{s3.address('model')}/v" in ended.stderr
    assert "saved it to" in ended.stderr  # what was learned is not lost
    with pytest.raises(DataError, match="no such file"):
        unhot.load(s3.address("none"))


def test_a_bucket_that_does_not_exist_is_noticed_first(s3, tmp_path):
    """And a folder in a bucket need not exist."""
    text, labelled, out = (
        s3.put("text.txt", TEXT),
        s3.put("labelled.txt", LABELLED),
        "s3://no-such-bucket/model",
    )
    ok("lm", "train", text, "-o", "lm", "--order", "2", "--smoothing", "witten_bell")
    commands = (
        ("train", text, "-o", out, *SHORT),
        ("classify", "train", labelled, "-o", out, *SHORT),
        ("lm", "train", text, "-o", out, "--order", "2"),
        ("lm", "mix", "lm", "lm", "--validation", text, "-o", out),
        ("lm", "score", "lm", text, "-o", f"{out}.csv"),
        ("lm", "convert", "lm", f"{out}.arpa"),
    )
    for command in commands:
        ended = run(*command)
        assert ended.returncode == 1
        wrong = ": the bucket no-such-bucket does not exist: make it first"
        assert ended.stderr.startswith(f"unhot: {command[-1] if 'mod' in command[-1] else out}{wrong}"), (
            ended.stderr
        )
    ok("lm", "score", "lm", text, "-o", s3.address("new/folder/x.tsv"))


def test_checkpoints_and_interrupted_trainings_stay_here(s3, tmp_path):
    source, model = s3.put("corpus.txt", TEXT), s3.address("model")
    long = ("--dim", "8", "--epochs", "4000", "--min-count", "1", "--threads", "1")
    ended = run("train", source, "-o", model, *long, interrupt="epoch 3/")
    assert ended.returncode == 130, ended.stderr
    assert f"continue with: unhot train --resume model-interrupted -o {model}" in ended.stderr
    assert s3.keys() == ["corpus.txt"]
    ended = ok("train", "--resume", "model-interrupted", "-o", model)
    assert f"reading {source}, as the checkpoint says" in ended.stderr
    assert unhot.load(model).complete
    ended = run("train", "--resume", model)
    assert f"{model}: there is no such file or folder on this machine, where checkpoints stay" in ended.stderr
    ended = run("train", source, "-o", model, *SHORT, "--checkpoint-chunks", "1")
    assert ended.returncode == 2
    assert "checkpoints are saved on this machine" in ended.stderr
    with pytest.raises(ConfigError, match="checkpoints are saved on this machine"):
        unhot.Checkpoint(path=model)


class Stop:
    """Interrupts a training after its first chunk."""

    def __init__(self):
        self.calls = 0

    def __call__(self, progress):
        self.calls += 1
        if self.calls > 1:
            raise KeyboardInterrupt


LABELLED = "__label__good nice fine\n__label__bad ugly poor\n" * 20


def test_classifiers_read_and_write_there(s3):
    train, test = s3.put("train.txt.gz", gzip.compress(LABELLED.encode())), s3.put("test.txt", LABELLED)
    model, out = s3.address("clf"), s3.address("out/predicted.jsonl")
    ok("classify", "train", train, "-o", model, "--validation", test, *SHORT)
    assert "precision" in ok("classify", "test", model, test).stdout.lower()
    rows = s3.put("rows.jsonl", '{"text": "nice fine", "id": 1}\n{"text": "ugly", "id": 2}\n' * 3)
    ok("classify", "predict", model, rows, "-o", out)
    found = [json.loads(line) for line in s3.get("out/predicted.jsonl").splitlines()]
    assert [row["id"] for row in found] == [1, 2] * 3
    assert {*found[0]} == {"text", "id", "label", "score"}
    ok("classify", "predict", model, rows, "-o", s3.address("out.parquet"))
    assert pyarrow.parquet.read_table(io.BytesIO(s3.get("out.parquet"))).num_rows == 6
    ok("classify", "predict", model, rows, "-o", s3.address("out.jsonl.gz"))
    assert gzip.decompress(s3.get("out.jsonl.gz")) == s3.get("out/predicted.jsonl")
    ended = run("classify", "predict", model, rows, "-o", rows)
    assert "is the input, and would be replaced" in ended.stderr
    bad = s3.put("bad.jsonl", '{"text": "nice"}\n' * 5 + "{broken\n")
    assert run("classify", "predict", model, bad, "-o", s3.address("cut.jsonl"), "--strict").returncode == 1
    assert not [key for key in s3.keys() if "cut" in key or "unhot-" in key]


def test_language_models_read_and_write_there(s3):
    text, model = s3.put("text.txt", TEXT), s3.address("lm")
    ok("lm", "train", text, "-o", model, "--order", "2", "--smoothing", "witten_bell")
    assert "perplexity" in ok("lm", "perplexity", model, text).stdout
    ok("lm", "score", model, text, "-o", s3.address("scored.tsv"))
    assert len(s3.get("scored.tsv").splitlines()) >= 100
    ok("lm", "convert", model, s3.address("model.arpa.gz"))
    assert b"\\data\\" in gzip.decompress(s3.get("model.arpa.gz"))
    ok("lm", "perplexity", s3.address("model.arpa.gz"), text)
    ok("lm", "mix", model, s3.address("model.arpa.gz"), "--validation", text, "-o", s3.address("mixed"))
    ok("lm", "perplexity", s3.address("mixed"), text)


def test_logs_items_and_graphs_are_read_there(s3):
    users = "".join(f"u{user},i{(user + step) % 5},{step}\n" for user in range(20) for step in range(4))
    log = s3.put("log.csv", "user,item,time\n" + users)
    items = s3.put("items.jsonl", "".join(f'{{"item": "i{n}", "title": "name {n}"}}\n' for n in range(5)))
    model = s3.address("rec")
    ok("recommend", "train", log, "-o", model, "--model", "popularity", "--items", items)
    assert "name" in ok("recommend", "for", model, "u1", "--log", log).stdout
    assert json.loads((next(Path("cache").rglob("config.json"))).read_text())["items"] == "items.jsonl"
    edges = s3.put("edges.txt", "".join(f"n{n} n{(n + 1) % 9}\n" for n in range(9)))
    ok("graph", "train", edges, "-o", s3.address("graph"), "--dim", "8", "--epochs", "1", "--threads", "1")


def test_errors_name_the_address_and_what_to_do(s3, server, monkeypatch):
    for address in (s3.address("none.txt"), "s3://no-such-bucket/x.txt", s3.address("none/*.txt")):
        ended = run("train", address, "-o", "model", *SHORT)
        assert ended.returncode == 1
        assert ended.stderr.startswith(f"unhot: {address}: no such file or folder, and no match")
    ended = run("train", "nosuch://x/y.txt", "-o", "model", *SHORT)
    assert "nosuch://x/y.txt" in ended.stderr
    assert "s3://, gs:// or hdfs://" in ended.stderr
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    ended = run("train", s3.address("x.txt"), "-o", "model", *SHORT)
    assert ended.returncode == 1
    assert f"{s3.address('x.txt')}: " in ended.stderr
    assert "check the address, the credentials and the server" in ended.stderr
    assert not Path("model").exists()


def test_credentials_are_never_shown_or_saved(s3, server, tmp_path, monkeypatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    s3.put("corpus.txt", TEXT)
    query = f"?endpoint_override=http://{server}&region=us-east-1"
    for secret in (SECRET, SECRET.replace("/", "%2F")):
        start = f"s3://{KEY}:{secret}@{s3.name}"
        source, model = f"{start}/corpus.txt{query}", f"{start}/model{query}"
        told = [
            ok("train", source, "-o", model, *SHORT, "--log-json", "log.jsonl"),
            ok("train", source, source, "-o", "here", *SHORT, "--checkpoint-chunks", "1"),
            ok("neighbors", model, "cat"),
            run("train", f"{start}/none.txt{query}", "-o", "model", *SHORT),
            run("train", f"{start}/x.txt{query}&wrong={SECRET}", "-o", "model", *SHORT),
            run("lm", "perplexity", f"{start}/corpus.txt{query}", source),
            run("neighbors", f"{start}/none{query}", "cat", "--debug"),
            run("train", "--resume", model),
        ]
        if secret == SECRET:
            address = f"{start}/none.txt?endpoint_override=http://127.0.0.1:1"
            told.append(run("train", address, "-o", "m", "--debug"))
        for ended in told:
            for hides in (SECRET, "S3cr3t", KEY, "endpoint_override"):
                assert hides not in ended.stdout + ended.stderr
        assert f"saved to s3://{s3.name}/model" in told[0].stderr
    found = unhot.load(model)
    with pytest.raises(KeyboardInterrupt):
        unhot.SkipGram(dim=8, min_count=1, threads=1).fit(
            source, checkpoint=unhot.Checkpoint(path="cut", minutes=None, chunks=1), callbacks=[Stop()]
        )
    saved = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert len(saved) > 10
    saved += [s3.get(key) for key in s3.keys()]
    assert not [data for data in saved if b"S3cr3t" in data or KEY.encode() in data]
    assert found.complete
    with pytest.raises(DataError) as failed:
        unhot.load(f"{start}/none{query}")
    assert "S3cr3t" not in str(failed.value)
    assert failed.value.__suppress_context__ or failed.value.__context__ is None


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("s3://bucket/key", "s3://bucket/key"),
        ("s3://AK:a/b+c@bucket/a@b?region=x", "s3://bucket/a@b"),
        ("hdfs://user@host:8020/a/b@c", "hdfs://host:8020/a/b@c"),
        ("hdfs://host:8020/a/b@c", "hdfs://host:8020/a/b@c"),
        ("https://u:p@host/x.csv?sig=1", "https://host/x.csv"),
        ("https://host/x.csv?token", "https://host/x.csv"),
        ("s3://bucket/dir/", "s3://bucket/dir"),
        ("hf://datasets/a/b@main/x.csv", "hf://datasets/a/b@main/x.csv"),
        ("s3://AK:a/b@", "s3://"),
        ("C:/x", "C:/x"),
        ("see s3://a:b@c", "see s3://a:b@c"),
        (3, 3),
    ],
)
def test_what_is_shown_of_an_address(address, shown):
    assert hidden(address) == shown


ODD = [
    "s3:///KEYID:{}@{}/x.csv",
    "s3:/KEYID:{}@{}/x.csv",
    "s3:KEYID:{}@{}/x.csv",
    "s3//KEYID:{}@{}/x.csv",
    "s3://KEYID:{}@",
    "s3://KEYID:{} @{}/x.csv",
    "s3://KEYID:{}\n@{}/x.csv",
    "s3://KEYID:a@{}@{}/x.csv",
    "s3://AKIAKEYIDKEYIDKEYIDK:{}",
    "s3://AKIAKEYIDKEYIDKEYIDK/{}@{}/x.csv",
    "s3:/bucket/x.csv?access_key=KEYID&secret_key={}",
    "x.csv?X-Amz-Signature={}",
]


@pytest.mark.parametrize("form", ODD)
def test_nothing_secret_of_a_misspelled_address_is_shown(form, s3, tmp_path):
    address = form.format(SECRET, s3.name)
    given = f"negative:k=5,noise=file:{address}"
    (tmp_path / "x.txt").write_text(TEXT)
    commands = (
        ("train", address, "-o", "m", *SHORT),
        ("train", "x.txt", "-o", "m", *SHORT, "--output", given),
        ("train", "x.txt", "-o", "m", "--min-count", address),
        ("classify", "train", address, "-o", "m", "--debug"),
        ("lm", "perplexity", address, "x.txt", "--debug"),
        ("lm", "score", "m", address, "-o", address),
        ("recommend", "train", address, "-o", "m"),
        ("neighbors", address, "word"),
    )
    told = [run(*command) for command in commands]
    for function in (
        lambda: unhot.load(address),
        lambda: unhot.corpus.encode(address),
        lambda: unhot.SkipGram(min_count=1, output=given).fit(TEXT.splitlines()),
        lambda: unhot.Classifier(validation=address).fit(["a", "b"], ["x", "y"]),
    ):
        with pytest.raises(unhot.errors.UnhotError) as failed:
            function()
        told.append(failed.value)
    for each in told:
        shown = each.stdout + each.stderr if hasattr(each, "stderr") else str(each)
        for secret in ("S3cr3t", "with+slash", "KEYID"):
            assert secret not in shown, shown
        assert getattr(each, "returncode", 1) in (1, 2)


def test_words_that_look_like_addresses_of_the_web_stay_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    word = "https://example.org/?q=1"
    unhot.Vectors([word, "b"], np.eye(2, dtype=np.float32)).save("v")
    assert ok("neighbors", "v", word).returncode == 0
    assert unhot.corpus.encode(["https://a/b", "https://a/c"], min_count=1).words == 2


def test_files_of_fsspec(tmp_path, monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNHOT_CACHE", str(tmp_path / "cache"))
    memory = fsspec.filesystem("memory")
    place = f"memory://{uuid.uuid4().hex}"
    memory.pipe(f"{place}/t/b.txt.gz", gzip.compress(TEXT.encode()))
    memory.pipe(f"{place}/t/a.txt", TEXT.encode())
    assert [str(file) for file in find_files(f"{place}/t/*")] == [f"{place}/t/a.txt", f"{place}/t/b.txt.gz"]
    ok("train", f"{place}/t", "-o", f"{place}/model", *SHORT)
    assert unhot.load(f"{place}/model").learned.in_vocabulary.counts.sum() == 1200
    unhot.load(f"{place}/model").save(f"{place}/model")
    ok("neighbors", f"{place}/model", "cat")
    memory.pipe(
        f"{place}/log.parquet", table_bytes(pa.table({"user": ["a", "b"], "item": ["x", "y"]}), "parquet")
    )
    ok("recommend", "train", f"{place}/log.parquet", "-o", f"{place}/rec", "--model", "popularity")
    ended = run("train", f"{place}/none.txt", "-o", "model", *SHORT)
    assert f"{place}/none.txt: no such file or folder" in ended.stderr


CUT = """
import sys, os, signal, pyarrow.fs, unhot.rows.remote as remote
from unhot.rows.copied import opened_result
with opened_result(sys.argv[1]) as file:
    file.write(b"x" * (20 << 20))
    file.flush()
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise KeyboardInterrupt
"""


@pytest.mark.parametrize("how", ["kill", "interrupt"])
def test_a_cut_upload_leaves_nothing(s3, how):
    ended = subprocess.run([sys.executable, "-c", CUT, s3.address("big.bin"), how], capture_output=True)
    assert ended.returncode
    assert s3.keys() == []


def test_threads_that_load_a_model_at_once(s3, tmp_path):
    unhot.SkipGram(dim=4, epochs=1, min_count=1, threads=1).fit(TEXT.splitlines()).save(s3.address("model"))
    with ThreadPoolExecutor(6) as pool:
        found = [*pool.map(lambda _: unhot.load(s3.address("model")).vectors.words, range(6))]
    assert found == [found[0]] * 6
