"""What runs a class: README.md in the folder above has the commands.

classroom.py                release, collect, grade, feedback; the pages on which a person gives marks
grading/, office/           the walls and the judge; files, people, deadlines, tables
variant.py, exam.py         assignments and exams drawn from a seed (variants.py, asking.py)
plans.py, syllabus.md       what students do in each week of each plan; projects.md: projects for pairs
simulate.py, similarity.py  a class to try it on; whose code is alike
chapters.py, pages.py       where the files of a chapter's class lie; texts from templates, the files *.j2 here
"""
