"""python -m tools.slides [chapter ...]"""

import sys

from tools.slides.write import main

sys.exit(main(sys.argv[1:]))
