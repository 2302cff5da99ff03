"""What several lessons need: house style, forms of answers, quizzes, the interactive kit, counterexamples."""
