"""What P4's Table 2 was predicted to show at full scale, 40,000 steps; committed before the run.

Seen before: three seeds of 5,000 steps (laptop scale), where the best MAP@10 was .041 of sampling and .015, .035, .039
and .044 of SOGram at .001, .005, .01 and .1. Not in `quality`, whose results hold its code's hash.
"""

PREDICTIONS = {
    1: "SOGram at .1 has a larger best MAP@10 than sampling on every seed.",
    2: "So has SOGram at .01, which P4 finds: on two seeds of three at least.",
    3: "SOGram at .001 has the smallest best of all on every seed, and 1.5 times its best of 5,000 steps or more.",
    4: "The best of sampling is at most a tenth above its best of 5,000 steps.",
    5: "Among 500 candidates the five stand in the same order as among all, by their best MAP@10's means over seeds.",
}
