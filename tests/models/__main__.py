"""`python -m tests.models` prints the folder of SmolLM2-135M-Instruct, made if need be; `… tiny` the random model's."""

import sys

from tests.models import smollm2, tiny

if __name__ == "__main__":
    print(tiny() if sys.argv[1:] == ["tiny"] else smollm2())
