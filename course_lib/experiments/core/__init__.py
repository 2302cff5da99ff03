"""What every experiment stands on.

rules       what an experiment keeps of the rules of comparing, and whether its result shows it
registry    experiments, their cells, and the runner that stores each finished cell
queue       what fits into the minutes for which a GPU is lent
own         functions of a reader's own: their decorators, and how they are tried
own_data    a reader's file as pairs;  own_run: an experiment's `Door` for both, lists and intervals beside its rows
out         a result as CSV, Parquet, LaTeX, figure and BibTeX
dealt       the cells of a run, dealt out to several processes or machines
results     `Result`: tidy rows, read as values, means, intervals, curves and tables
display     a result as a table, with its chart of paper against ours;  pictures: rows with several marks, and curves
summary     means over seeds with their intervals
data        data sets by recipe, and splits into pairs to train and to test on
machine     threads and devices
code        which code made a result, and whether it is still the same
verify      some cells run again and compared with what is stored, and what has changed made again
provenance  where a number comes from, and where files lie
command     the command line
"""
