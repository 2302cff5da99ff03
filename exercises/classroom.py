"""The classroom where teachers call it: `python exercises/classroom.py release --assignment in-batch-bias`."""

import runpy
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # a checkout needs no installation
runpy.run_module("exercises.engine.classroom", run_name="__main__")
