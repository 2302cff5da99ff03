"""P1's experiments: Tables 1 to 5, Figures 1, 3 and 4, and what decides the sign of alpha (P1-X1).

Data. P1's Amazon-Book, Yelp and Tmall cannot be had here. Smoke runs on the embedded films, laptop on LastFM and
MovieLens 1M, full adds gowalla, CiteULike and MovieLens 20M; all are cut to their 10-core, as P1 does. With a
connection, `--option data=yelp2018-10core` and `data=amazon-book-10core` run on the sets of these names that LightGCN
uses: the same sources as P1's, in another cut, with a quarter and two fifths of its users. P1 does not state its split,
optimiser, learning rate, decay or law of negatives: here 8:1:1 at random, Adam, what stands in BUDGETS, and negatives
uniform over the items that a user has not.

Tuning. A backbone tries the decays of DECAYS, every method as many settings as every other, those of GRID, on top of
its backbone's choice; the setting with the best validation MRR@10 at the first seed serves all seeds. How many are
tried stands in TRIES and in the cells: 4 and 4 at full scale, fewer at laptop scale, 1 and 1 at smoke scale. P1 says
"grid search" and no more.

Models. A trained model is kept in the folder `models` beside the finished cells, under a hash of all that it depends
on: Tables 2 to 5 and Figures 1, 3 and 4 train the same backbone once. DDC is fine-tuned anew by each of them, which
takes seconds.

data, cells   what is trained on, and what each cell holds; how long everyone trains
models        trained models and their store;  tuning: settings, and DDC on a trained backbone
measures      what is measured;  reading: results in the shape that the figures draw;  pictures: beside P1's numbers
tables        Tables 1 to 5, Figures 1, 3 and 4;  signs: P1-X1;  axis: P1-X2;  weight: P1-X3
"""

from course_lib.experiments.p1 import ahead, axis, signs, tables, weight
from course_lib.experiments.p1.data import SETS, load_split
from course_lib.experiments.p1.reading import accuracy_points, projection_panels, sign_groups

__all__ = [
    "SETS",
    "accuracy_points",
    "ahead",
    "axis",
    "load_split",
    "projection_panels",
    "sign_groups",
    "signs",
    "tables",
    "weight",
]
