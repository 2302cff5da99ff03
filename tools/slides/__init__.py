"""Lecture decks: one offline reveal.js deck for each chapter, made of pieces of the built page.

    python -m tools.slides [chapter ...]    after `make book`: writes _build/slides/<chapter>.html

exercises/<chapter>/slides.yml gives the order, the headlines and the speaker's notes; statements, questions, figures,
code, numbers and interactives are taken from the page by label. `deck` reads that file, `pages` finds the pieces,
`write` puts them on slides.

reveal.js comes with the package sphinx-revealjs. Its Sphinx builder is not used: it would read the whole book a second
time, make a deck of every page from top to bottom, and take no piece by its label.
"""
