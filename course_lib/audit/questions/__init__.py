"""The questions, one function each: (Evidence) -> Verdict. Thresholds stand at the top of each module.

A threshold was chosen before the seeds that the tests report were drawn (tests/audit/test_planted.py), but for that of
equal rows, which trained models raised; models that rank well are seldom over one (`rates.real`). What it separates is
a matter of degree, and the figures of a verdict say how far from it a table lies. What a change of the finished tables
would repair is a fault only where one was measured to: `remedies.weighed`.
"""
