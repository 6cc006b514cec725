"""The controller's speed and size on a control plane without Job controller.

    python -m benchmarks.controller [--case one-1000 ...] [--pairs 5] [--json FILE]

Each case runs in pairs: the API server's own limit first ("raw"), then the controller, in turn. See
``benchmarks/README.md`` for what the figures mean. Goals that are missed are told, and are no error.
"""

import argparse
import json
import pathlib
import sys
from collections.abc import Sequence

from benchmarks.controller import cases, objects, report, samples
from e2e import golden
from e2e.kubectl import control_plane


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases on a cluster of their own."""
    given = _parser().parse_args(arguments)
    with control_plane(given.cluster) as kubectl:
        golden.prepare(kubectl)
        kubectl('apply', '--server-side', '-f', '-', stdin=json.dumps(objects.namespace()))
        bench = samples.Bench(kubeconfig=kubectl.kubeconfig, profiles=given.profile)
        samples.warm(bench)
        if given.profile is not None:
            return _profile(bench, given.case or list(cases.CASES), given.profile)
        results = [_result(bench, name, given.pairs) for name in given.case or cases.CASES]
        document = report.document(results, kubernetes=bench.version())
    print(report.table(results))
    if given.json is not None:
        given.json.write_text(json.dumps(document, indent=1) + '\n')
    return 0


def _profile(bench: samples.Bench, names: Sequence[str], folder: pathlib.Path) -> int:
    """Run the cases once, each with a file of the controller's stacks."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        cost = bench.ours(name, cases.CASES[name], 0)
        print(f'{name}: {folder / name}-0.stacks, CPU {cost.cpu_seconds:.2f} s')
    return 0


def _result(bench: samples.Bench, name: str, pairs: int) -> report.Result:
    case = cases.CASES[name]
    taken: list[samples.Pair] = []
    for number in range(pairs):
        pair = bench.pair(name, case, number)
        print(
            f'{name} {number + 1}/{pairs}: raw {pair.raw_seconds:.2f} s, ours {pair.ours_seconds:.2f} s, '
            f'ratio {pair.ratio:.2f}, CPU {pair.cpu_seconds:.2f} s, peak RSS {pair.peak_rss_mib:.0f} MiB',
            file=sys.stderr,
            flush=True,
        )
        taken.append(pair)
    return report.Result(name=name, goal=case.goal, pairs=taken)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.controller',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add('--case', nargs='+', choices=list(cases.CASES), help='default: all')
    add('--pairs', type=int, default=5, help='of raw and ours, in turn; the medians count (default 5)')
    add('--json', type=pathlib.Path, metavar='FILE', help='write all samples there')
    add('--cluster', default='bench', metavar='NAME', help='of the cluster that is started for this (default bench)')
    add('--profile', type=pathlib.Path, metavar='FOLDER', help='profile the controller instead')
    return parser


if __name__ == '__main__':
    sys.exit(main())
