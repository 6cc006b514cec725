"""Makes ``python -m jobset.controller`` the same as ``jobset-controller``."""

import sys

from jobset.controller import main

if __name__ == '__main__':
    sys.exit(main.main())
