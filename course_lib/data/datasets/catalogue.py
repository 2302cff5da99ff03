"""The one table of data sets: one `Entry` each."""

from __future__ import annotations

from typing import Any

from course_lib.data.datasets import readers
from course_lib.data.datasets.entries import Entry, Remote

__all__ = ["ENTRIES", "Entry", "Remote"]


GROUPLENS = "https://files.grouplens.org/datasets/movielens"
MOVIELENS_CITATION = (
    "F. M. Harper, J. A. Konstan, The MovieLens Datasets: History and Context, ACM TiiS 5(4), 2015, "
    "doi:10.1145/2827872."
)
MOVIELENS_NOTE = "for research; no commercial use without permission of GroupLens; no endorsement may be implied."
NO_REDISTRIBUTION = f"{MOVIELENS_NOTE[:-1]}; no redistribution without separate permission."
SAME_TERMS = f"{MOVIELENS_NOTE[:-1]}; redistribution only under the same terms."
SEE_README = f"{MOVIELENS_NOTE[:-1]}; for redistribution see the README in the archive."
LIGHTGCN = "https://raw.githubusercontent.com/gusye1234/LightGCN-PyTorch/947ca2b3b1d2d3545b114145710cb06c4e57b3d2"
LIGHTGCNPP = "https://raw.githubusercontent.com/geon0325/LightGCNpp/a394f79a7aceb8f485f6bcb549b4865fe83f1d49"
WIKISPEEDIA = "https://raw.githubusercontent.com/muhilaru/Wikispeedia/1217b23daed9d34f9e877d031e0779ccc130b623"
SPLIT = (("train.txt", "valid.txt", "test.txt"), ("train.txt", "test.txt"))


def _movielens(name: str, title: str, pairs: int, users: int, items: int, md5: str, **rest: Any) -> Entry:
    remote = Remote(f"{GROUPLENS}/{name}.zip", f"{name}/{name}.zip", "md5", md5)
    values: dict[str, Any] = {
        "default_min_rating": 4,
        "rating_scale": "0.5 to 5 stars in halves",
        "licence": "GroupLens, research use",
        "licence_note": SEE_README,
        "citation": MOVIELENS_CITATION,
        "homepage": f"{GROUPLENS}/{name}.zip",
        "forms": (("ratings.csv",),),
        "archives": (f"{name}.zip",),
        "remotes": (remote,) if md5 else (),
        "read": readers.read_ml_csv,
    }
    return Entry(name=name, title=title, pairs=pairs, users=users, items=items, **(values | rest))


def _raw_files(base: str, name: str, hashes: dict[str, str]) -> tuple[Remote, ...]:
    """Files at a fixed commit of a public repository; their SHA-256 was computed from the repository's own objects."""
    return tuple(Remote(f"{base}/{file}", f"{name}/{file}", "sha256", value) for file, value in hashes.items())


_ALL = (
    Entry(
        name="movietweetings",
        title="MovieTweetings 100K",
        pairs=100_000,
        users=16_554,
        items=10_506,
        default_min_rating=7,
        rating_scale="0 to 10",
        licence="MIT",
        licence_note="MIT licence, (c) 2013 Simon Dooms.",
        citation=(
            "S. Dooms, T. De Pessemier, L. Martens, MovieTweetings: a Movie Rating Dataset Collected From Twitter, "
            "CrowdRec workshop at RecSys 2013."
        ),
        homepage="https://github.com/sidooms/MovieTweetings",
        may_ship=True,
        note="From 7 on a rating counts as a positive: 72,771 of the 100,000 do.",
    ),
    _movielens(
        "ml-latest-small",
        "MovieLens latest-small (2018)",
        100_836,
        610,
        9_724,
        "",
        homepage="https://grouplens.org/datasets/movielens/latest/",
        licence_note=SAME_TERMS,
        may_ship=True,
        note="A development set whose address is reused for newer editions, so it has no lasting checksum.",
    ),
    _movielens(
        "ml-100k",
        "MovieLens 100K",
        100_000,
        943,
        1_682,
        "0e33842e24a9c977be4e0107933c0723",
        rating_scale="1 to 5 stars",
        licence_note=NO_REDISTRIBUTION,
        forms=(("u.data",),),
        read=readers.read_ml_100k,
    ),
    _movielens(
        "ml-1m",
        "MovieLens 1M",
        1_000_209,
        6_040,
        3_706,
        "c4d9eecfca2ab87c1945afe126590906",
        rating_scale="1 to 5 stars",
        licence_note=NO_REDISTRIBUTION,
        forms=(("ratings.dat",), ("ml1m_pairs_order.npz",)),
        read=readers.read_ml_1m,
        note="P3's first data set (575,281 positives from 4 stars on).",
    ),
    _movielens(
        "ml-10m",
        "MovieLens 10M",
        10_000_054,
        71_567,
        10_681,
        "ce571fd55effeba0271552578f2648bd",
        licence_note=NO_REDISTRIBUTION,
        forms=(("ratings.dat",),),
        read=readers.read_ml_10m,
    ),
    _movielens("ml-20m", "MovieLens 20M", 20_000_263, 138_493, 27_278, "cd245b17a1ae2cc31bb14903e1204af3"),
    _movielens("ml-25m", "MovieLens 25M", 25_000_095, 162_541, 62_423, "6b51fb2759a8657d3bfcbfc42b592ada"),
    _movielens("ml-32m", "MovieLens 32M", 32_000_204, 200_948, 87_585, "d472be332d4daa821edc399621853b57"),
    Entry(
        name="gowalla",
        title="Gowalla (split of NGCF and LightGCN)",
        pairs=1_027_370,
        users=29_858,
        items=40_981,
        default_min_rating=None,
        rating_scale="none (check-ins)",
        licence="none stated",
        licence_note="the source (SNAP, loc-gowalla) states no licence; research use.",
        citation="E. Cho, S. A. Myers, J. Leskovec, Friendship and Mobility, KDD 2011.",
        homepage="https://github.com/geon0325/LightGCNpp",
        read=readers.read_lightgcn,
        forms=SPLIT,
        remotes=_raw_files(
            f"{LIGHTGCNPP}/data/gowalla",
            "gowalla",
            {
                "train.txt": "d47e01d060624f389956c0b2f89a1ed8c453ea158631cd2b5320c241f3e1a073",
                "valid.txt": "ddc22c1cd9a7d14fd5cd0c98b1473b614f4323038fef74ae0d28cc9c92a08ba2",
                "test.txt": "099a2a73924e4b754dc6efd730d764f492321b53c38eb93298850c83acf57be3",
            },
        ),
        note="The published training set is train and valid together (810,128 pairs).",
    ),
    Entry(
        name="amazon-beauty",
        title="Amazon Beauty (split of LightGCN++)",
        pairs=394_908,
        users=52_204,
        items=57_289,
        default_min_rating=None,
        rating_scale="none (implicit)",
        licence="none stated",
        licence_note="the source (Amazon reviews of J. McAuley) is for research; cite it.",
        citation=(
            "J. McAuley, C. Targett, Q. Shi, A. van den Hengel, Image-based Recommendations on Styles and Substitutes, "
            "SIGIR 2015."
        ),
        homepage="https://github.com/geon0325/LightGCNpp",
        read=readers.read_triples,
        forms=SPLIT,
        remotes=_raw_files(
            f"{LIGHTGCNPP}/SELFRec/dataset/amazon-beauty",
            "amazon-beauty",
            {
                "train.txt": "42f5083f9e435e32b02736c9feeb69802a0fe2b8bc077ef6d0852153249394ef",
                "valid.txt": "f8000334575dfa32aa88e95542e059c05bb27b623a7e59670c9e745686aea526",
                "test.txt": "14c7f464e5f5fbc307bed3ef1e2538acff4410d551d82aa0bf35b89d63a93745",
            },
        ),
        note="The sparse contrast to ML-1M, in the role of EUR-Lex in P3. It is not P1's Amazon-Book.",
    ),
    Entry(
        name="citeulike-a",
        title="CiteULike-a (split of LightGCN++)",
        pairs=210_504,
        users=5_551,
        items=16_980,
        default_min_rating=None,
        rating_scale="none (implicit)",
        licence="none stated",
        licence_note="the source states no licence; research use.",
        citation="C. Wang, D. M. Blei, Collaborative Topic Modeling for Recommending Scientific Articles, KDD 2011.",
        homepage="https://github.com/geon0325/LightGCNpp",
        read=readers.read_triples,
        forms=SPLIT,
        remotes=_raw_files(
            f"{LIGHTGCNPP}/SELFRec/dataset/citeulike",
            "citeulike-a",
            {
                "train.txt": "c2e748352773ace972336efdd55f5c3e9d838bd252b86e3e77fb112ca5f71755",
                "valid.txt": "6648f654450854857967e1251b8322741e5279e94e62e7be5d816774599ed80a",
                "test.txt": "c7eb14f9d808d64ba633aefceb7571790d3e5490462e5413cf93055ca77d1904",
            },
        ),
        merge=True,
        note="210,528 rows, of which 24 repeat a pair of another part; each such pair counts once, in the later part.",
    ),
    Entry(
        name="lastfm-hetrec",
        title="Last.FM (HetRec 2011, split of LightGCN-PyTorch)",
        pairs=52_668,
        users=1_880,
        items=4_489,
        default_min_rating=None,
        rating_scale="play counts, from 1",
        licence="non-commercial use",
        licence_note="the source (HetRec 2011, hosted by GroupLens) is for non-commercial use; cite it.",
        citation=(
            "I. Cantador, P. Brusilovsky, T. Kuflik, Second Workshop on Information Heterogeneity and Fusion in "
            "Recommender Systems (HetRec), RecSys 2011."
        ),
        homepage="https://github.com/gusye1234/LightGCN-PyTorch",
        read=readers.read_lastfm,
        forms=(("data1.txt", "test1.txt"),),
        remotes=_raw_files(
            f"{LIGHTGCN}/data/lastfm",
            "lastfm-hetrec",
            {
                "data1.txt": "c82af3228cbbda2f55a39244de09ed93292894f1d0d9f1908ebb57e27598fded",
                "test1.txt": "de4417c0e6123284ce59a0934bcf5288ec1ec8774a18a1eef453c9952dfa48f9",
            },
        ),
    ),
    Entry(
        name="wikispeedia",
        title="Wikispeedia (links between Wikipedia articles)",
        pairs=119_882,
        users=4_587,
        items=4_135,
        default_min_rating=None,
        rating_scale="none (links)",
        licence="none stated",
        licence_note="the files state no licence and ask for two citations.",
        citation=(
            "R. West, J. Leskovec, Human Wayfinding in Information Networks, WWW 2012; R. West, J. Pineau, D. Precup, "
            "Wikispeedia: An Online Game for Inferring Semantic Distances between Concepts, IJCAI 2009."
        ),
        homepage="https://snap.stanford.edu/data/wikispeedia.html",
        read=readers.read_wikispeedia,
        forms=(("links.tsv",),),
        archives=("wikispeedia_paths-and-graph.tar.gz",),
        remotes=_raw_files(
            f"{WIKISPEEDIA}/data",
            "wikispeedia",
            {
                "links.tsv": "367d5679a46bf4cfb452773551a2796fb3a434a0689edb0454bdb42e3a7f405a",
                "categories.tsv": "659412a49a7cba380d63ab98a714ebde7211d3d90cec9cf7b80a8dd4d5a12e9a",
            },
        ),
        note="Left entities are articles with an outgoing link, right entities articles with an incoming one.",
    ),
    Entry(
        name="eurlex",
        title="EUR-Lex (training part, LIBSVM edition)",
        pairs=82_265,
        users=15_449,
        items=3_801,
        default_min_rating=None,
        rating_scale="none (labels of documents)",
        licence="see the source",
        licence_note="EU legislation with EUROVOC labels, prepared by TU Darmstadt and the LIBSVM group; cite it.",
        citation=(
            "E. Loza Mencía, J. Fürnkranz, Efficient Multilabel Classification Algorithms for Large-Scale Problems in "
            "the Legal Domain, Semantic Processing of Legal Texts, Springer 2010."
        ),
        homepage="https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multilabel.html",
        read=readers.read_eurlex,
        forms=(("eurlex_tfidf_train.svm",),),
        note="P3's second data set; the counts are those of P3's Table 3. The page publishes no checksum.",
    ),
)
ENTRIES: dict[str, Entry] = {entry.name: entry for entry in _ALL}
