"""What an instructor teaches from: exams, board notes, sample essays, projects, a syllabus with its weeks.

exam.py     `make exam SEED=...`: questions, model answers and marking schemes
exams/      the questions, a module for each chapter
board/      two sessions of each chapter at the board
essays/     sample essays with their marks, to calibrate graders
plans.py    `make syllabus`: what students do in each week of each plan, with hours
projects.md, syllabus.md
"""
