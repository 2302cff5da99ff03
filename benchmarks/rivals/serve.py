"""The other libraries' side of bpr_epoch.py and top_k.py, run by the Python that has them (benchmarks/README.md).

    python serve.py KIND DATA.npz THREADS        KIND: implicit-epoch, implicit-top, recbole-epoch

Answers each line on its input with the seconds of one more pass (or ranking), the processor's seconds, and a check
number. Their own code does the work, with the settings that they document; only loading the data is ours. Nothing of it
is part of the course.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sp

KIND, DATA, THREADS = sys.argv[1], sys.argv[2], int(sys.argv[3])
WIDTH = 64
PASSES = (
    3 if Path(DATA).stat().st_size < 100e6 else 1
)  # of which one is timed; a pass over 20 M pairs takes long enough


def pairs() -> sp.csr_matrix:
    """The positive pairs as a CSR matrix of ones."""
    stored = np.load(DATA)
    ones = np.ones(len(stored["users"]), dtype=np.float32)
    return sp.csr_matrix((ones, (stored["users"], stored["items"])), shape=tuple(stored["shape"]))


def implicit_epoch() -> Callable[[], float]:
    """Passes of `BayesianPersonalizedRanking.fit` on existing factors: |O| triples each, negatives by popularity."""
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    matrix = pairs()
    model = BayesianPersonalizedRanking(
        factors=WIDTH, learning_rate=0.05, regularization=0.0, iterations=PASSES, num_threads=THREADS, random_state=0
    )
    model.fit(matrix, show_progress=False)

    def run() -> float:
        model.fit(matrix, show_progress=False)
        return float(np.abs(model.user_factors).max())

    return run


def implicit_top() -> Callable[[], float]:
    """`recommend` for all users, or those "chosen": exact top 20, items of the user left out. The lists are written
    beside the data.
    """
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    matrix, stored = pairs(), np.load(DATA)
    model = BayesianPersonalizedRanking(factors=WIDTH, num_threads=THREADS)
    model.user_factors, model.item_factors = stored["left"], stored["right"]
    chosen = stored["chosen"] if "chosen" in stored else np.arange(matrix.shape[0])
    known = matrix[chosen]

    def rank() -> np.ndarray:
        return model.recommend(chosen, known, N=20, filter_already_liked_items=True)[0]

    np.save(Path(DATA).with_name("lists.npy"), rank())
    return lambda: float(rank().sum())


def recbole_epoch() -> Callable[[], float]:
    """`Trainer._train_epoch` of RecBole's BPR on a CPU: Adam, batches of 8192, one uniform negative per pair."""
    import torch

    if not hasattr(
        sp.dok_matrix, "_update"
    ):  # RecBole 1.2.1 calls what newer versions of scipy and numpy no longer have
        sp.dok_matrix._update = lambda matrix, entries: matrix._dict.update(entries)
    for name, kind in {"float_": np.float64, "complex_": np.complex128, "unicode_": np.str_}.items():
        if not hasattr(np, name):
            setattr(np, name, kind)
    from recbole.config import Config
    from recbole.data import create_dataset, data_preparation
    from recbole.model.general_recommender import BPR
    from recbole.trainer import Trainer

    torch.set_num_threads(THREADS)
    matrix = pairs().tocoo()
    folder = TemporaryDirectory()
    (Path(folder.name) / "bench").mkdir()
    with open(Path(folder.name) / "bench" / "bench.inter", "w", encoding="utf-8") as file:
        file.write("user_id:token\titem_id:token\n")
        file.writelines(f"{u}\t{i}\n" for u, i in zip(matrix.row, matrix.col, strict=True))
    settings = {
        "data_path": folder.name,
        "checkpoint_dir": folder.name,
        "use_gpu": False,
        "embedding_size": WIDTH,
        "train_batch_size": 8192,
        "load_col": {"inter": ["user_id", "item_id"]},
        "show_progress": False,
        "state": "ERROR",
        "eval_args": {"split": {"RS": [1.0, 0.0, 0.0]}, "order": "RO", "mode": "full", "group_by": None},
        "train_neg_sample_args": {
            "distribution": "uniform",
            "sample_num": 1,
            "alpha": 1.0,
            "dynamic": False,
            "candidate_num": 0,
        },
    }
    sys.argv = sys.argv[:1]  # RecBole reads the command line
    config = Config(model="BPR", dataset="bench", config_dict=settings)
    dataset = create_dataset(config)
    loader = data_preparation(config, dataset)[0]
    trainer = Trainer(config, BPR(config, loader.dataset))

    def run() -> float:
        return float(trainer._train_epoch(loader, 0))

    run.folder = folder
    return run


def main() -> None:
    """Sets up once, then answers."""
    run = {"implicit-epoch": implicit_epoch, "implicit-top": implicit_top, "recbole-epoch": recbole_epoch}[KIND]()
    passes = PASSES if KIND == "implicit-epoch" else 1
    print("ready", flush=True)
    for _ in sys.stdin:
        start, work = time.perf_counter(), time.process_time()
        check = run()
        print((time.perf_counter() - start) / passes, (time.process_time() - work) / passes, check, flush=True)


if __name__ == "__main__":
    main()
