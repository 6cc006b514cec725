"""All figures of the embedded control plane, with their goals beside them; a missed goal is told, and is no failure.

::

    python -m benchmarks.local [--jobsets 1000]

Run it on a machine that has nothing else to do. CPU times stand beside the same in loops of a thousand steps of Python,
which say how fast the machine is: see :mod:`benchmarks.local.machine`.
"""

import argparse
import subprocess
import sys


def main() -> None:
    """Run one after the other, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--jobsets', type=int, default=1000, help='of the simulated day; its goal is for 10000')
    chosen = parser.parse_args()
    for name, *arguments in (
        ('writes',),
        ('server',),
        ('hello',),
        ('day', '--jobsets', str(chosen.jobsets)),
    ):
        print(f'--- {name}', flush=True)
        subprocess.run([sys.executable, '-m', f'benchmarks.local.{name}', *arguments], check=True)


if __name__ == '__main__':
    main()
