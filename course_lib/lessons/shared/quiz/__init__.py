"""The quizzes of the chapters: questions in data files, a strict reader, and the computations that settle the answers.

    from course_lib.lessons.shared import quiz
    quiz.names()                            # ["my-topic", ...]
    quiz.load("my-topic").questions

The page shows them through `widgets.quiz.Quiz`. A test recomputes, for every question that names a function, which
answers are right (`quiz.recompute`).
"""

from course_lib.lessons.shared.quiz.markup import html, pieces, plain
from course_lib.lessons.shared.quiz.reading import Answer, Question, Quiz, QuizError, load, names, read, recompute

__all__ = ["Answer", "Question", "Quiz", "QuizError", "html", "load", "names", "pieces", "plain", "read", "recompute"]
