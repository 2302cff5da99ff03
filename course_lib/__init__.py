"""The library of the two-tower course: the name that one imports is the file or the folder.

    geometry gauge norms popularity losses in_batch gramians correction   mathematics, for NumPy, torch and fractions
    interactions datasets metrics                                        data
    encoders jacobians backbones debiasing training                      models, and what trains them
    papers                                                               the numbers that the five papers print
    experiments                                                          their tables and figures, at three scales
    lessons     one folder for each chapter: proofs, counterexamples, figures, interactive, quiz, checks
    audit                                                                the audit of anybody's embeddings

Nothing is imported before it is asked for: `import course_lib` takes no time and no torch.
"""

__version__ = "0.1.0"
