"""How long a person waits for the smallest JobSet: from the command to the first line of its pod, and to the exit.

::

    python -m benchmarks.local.hello [--runs 5]

Beside it stands what the same interpreter takes to start and import the parts, which is the floor.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HELLO = {
    'apiVersion': 'jobset.x-k8s.io/v1alpha2',
    'kind': 'JobSet',
    'metadata': {'name': 'hello'},
    'spec': {
        'replicatedJobs': [
            {
                'name': 'main',
                'template': {
                    'spec': {
                        'template': {
                            'spec': {
                                'restartPolicy': 'Never',
                                'containers': [{'name': 'main', 'image': '-', 'command': ['echo', 'hello']}],
                            }
                        }
                    }
                },
            }
        ]
    },
}


def once(file: Path, home: Path) -> tuple[float, float]:
    """Seconds to the line of the pod, and to the end."""
    began = time.perf_counter()
    command = [sys.executable, '-m', 'jobset.cli.main', 'run', str(file)]
    environment = {**os.environ, 'JOBSET_HOME': str(home)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        first = next(time.perf_counter() - began for line in process.stdout if '[main-0-0]' in line)
        process.stdout.read()
        assert process.wait() == 0
    return first, time.perf_counter() - began


def imports() -> float:
    """Seconds that the interpreter takes to start and import the plane."""
    began = time.perf_counter()
    subprocess.run([sys.executable, '-c', 'import jobset.local.cluster'], check=True)
    return time.perf_counter() - began


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--runs', type=int, default=5)
    runs: int = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, 'hello.json')
        file.write_text(json.dumps(HELLO))
        once(file, Path(folder, 'home'))
        seen = [once(file, Path(folder, 'home')) for _ in range(runs)]
    first, last = (statistics.median(each) for each in zip(*seen, strict=True))
    print(f'import of the plane       {statistics.median(imports() for _ in range(runs)):5.2f} s')
    print(f'command -> first line     {first:5.2f} s   goal 2 s')
    print(f'command -> exit           {last:5.2f} s   goal 3 s')


if __name__ == '__main__':
    main()
