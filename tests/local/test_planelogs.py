"""The log of a cluster in the background."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import logging, os, pathlib, sys
from jobset.local import planelogs
logging.basicConfig(level=logging.INFO, format='%(message)s', handlers=[
    planelogs.Rotating(pathlib.Path(sys.argv[1]), most_bytes=100)
])
for number in range(int(sys.argv[2])):
    logging.info('entry %d %s', number, 'x' * 40)
print('last words', file=sys.stderr)
"""


def test_what_has_grown_is_put_aside_and_the_last_words_are_in_the_last_file(tmp_path: Path) -> None:
    file = tmp_path / 'plane.log'
    with file.open('ab') as log:
        subprocess.run(
            [sys.executable, '-c', SCRIPT, str(file), '9'],
            stdout=subprocess.DEVNULL,
            stderr=log,
            check=True,
            cwd=Path(__file__).parents[2],
            timeout=60,
        )

    entries = {
        each.name: [line.replace(' ' + 'x' * 40, '') for line in each.read_text().splitlines()]
        for each in tmp_path.iterdir()
    }
    assert entries == {
        'plane.log.2': ['entry 4', 'entry 5'],
        'plane.log.1': ['entry 6', 'entry 7'],
        'plane.log': ['entry 8', 'last words'],
    }
