"""Timelines: laid out, and drawn."""

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from jobset.cli.timelines import layout, png, shapes, svg, terminal
from jobset.cli.timelines.layout import Bar, Look, Row, Tick
from jobset.client.history import End, History, Mark, Run, Span
from tests.cli.conftest import Jobset
from tests.client import facts, fakes

m = facts.moment

HISTORY = History(
    name='js',
    begin=m(0),
    end=m(40),
    outcome='Completed',
    groups=['prep', 'train'],
    runs=[
        Run('js-prep-0', 'prep', 0, m(0), m(0), m(8), End.COMPLETE),
        Run('js-prep-0', 'prep', 1, m(20), m(20), m(28), End.COMPLETE),
        Run('js-train-0', 'train', 0, m(8), m(12), m(18), End.FAILED, 'BackoffLimitExceeded', '0/1 nodes fit'),
        Run('js-train-0', 'train', 1, m(28), m(28), m(40), End.COMPLETE),
        Run('js-train-1', 'train', 0, m(8), m(10), m(20), End.STOPPED),
    ],
    waits=[
        Span(m(0), m(8), 'waits for prep to be complete', 'train'),
        Span(m(20), m(28), 'waits for prep to be complete', 'train'),
    ],
    restarts=[Mark(m(20), 'js-train-0 failed')],
)


def test_layout() -> None:
    chart = layout.layout(HISTORY, m(100))
    assert chart.title == 'js: Completed after 40s, 1 restart'
    assert chart.seconds == 40
    assert chart.rows == [
        Row('js', 0, [Bar(0, 40, Look.COMPLETE, 'Completed')]),
        Row('prep', 1, []),
        Row(
            'prep-0',
            2,
            [
                Bar(0, 8, Look.COMPLETE, 'attempt 0: Complete'),
                Bar(20, 28, Look.COMPLETE, 'attempt 1: Complete'),
            ],
        ),
        Row(
            'train',
            1,
            [
                Bar(0, 8, Look.WAITING, 'waits for prep to be complete'),
                Bar(20, 28, Look.WAITING, 'waits for prep to be complete'),
            ],
        ),
        Row(
            'train-0',
            2,
            [
                Bar(8, 12, Look.PENDING, '0/1 nodes fit'),
                Bar(12, 18, Look.FAILED, 'attempt 0: Failed (BackoffLimitExceeded)'),
                Bar(28, 40, Look.COMPLETE, 'attempt 1: Complete'),
            ],
        ),
        Row(
            'train-1',
            2,
            [Bar(8, 10, Look.PENDING, 'pods are being started'), Bar(10, 20, Look.STOPPED, 'attempt 0: Stopped')],
        ),
    ]
    assert chart.ticks == [Tick(0, '0'), Tick(10, '10s'), Tick(20, '20s'), Tick(30, '30s'), Tick(40, '40s')]
    assert chart.restarts == [Tick(20, 'js-train-0 failed')]
    assert chart.notes == [
        '+0s train waits for prep to be complete: 8s',
        '+8s train-0 pending: 0/1 nodes fit: 4s',
        '+18s train-0 failed in attempt 0: BackoffLimitExceeded',
        '+20s restart: js-train-0 failed',
        '+20s train waits for prep to be complete: 8s',
    ]


def test_what_goes_on_reaches_to_now() -> None:
    runs = [
        Run('js-a-0', 'a', 0, m(0), m(5), None, End.RUNNING),
        Run('js-a-1', 'a', 0, m(0), None, None, End.RUNNING),
    ]
    spans = [Span(m(5), None, 'waits for a to be complete', 'b')]
    held = [Span(m(0), m(2), 'suspended')]
    facts_ = History(
        name='js', begin=m(0), end=None, outcome='', groups=['a', 'b'], runs=runs, waits=spans, suspensions=held
    )
    chart = layout.layout(facts_, m(30))
    assert chart.title == 'js: since 30s'
    assert [row.bars for row in chart.rows] == [
        [Bar(0, 2, Look.SUSPENDED, 'suspended'), Bar(2, 30, Look.RUNNING)],
        [],
        [Bar(0, 5, Look.PENDING, 'pods are being started'), Bar(5, 30, Look.RUNNING, 'attempt 0: Running')],
        [Bar(0, 30, Look.PENDING, 'pods are being started')],
        [Bar(5, 30, Look.WAITING, 'waits for a to be complete')],
    ]
    assert chart.notes == ['+0s suspended: 2s', '+5s b waits for a to be complete: 25s so far']


def test_many_jobs_share_a_row() -> None:
    ends = [End.COMPLETE] * 28 + [End.FAILED, End.STOPPED]
    runs = [Run(f'js-a-{i}', 'a', 0, m(i), m(i), m(40 + i), end) for i, end in enumerate(ends)]
    chart = layout.layout(
        History(name='js', begin=m(0), end=m(80), outcome='Failed', groups=['a'], runs=runs), m(80), most_rows=20
    )
    assert chart.rows[1] == Row(
        'a (30 Jobs)', 1, [Bar(0, 69, Look.FAILED, 'attempt 0: 1 Failed, 1 Stopped, 28 Complete')]
    )


@pytest.mark.parametrize(
    ('seconds', 'labels'),
    [
        (0.1, ['0', '0.1s']),
        (0.7, ['0', '0.1s', '0.2s', '0.3s', '0.4s', '0.5s', '0.6s', '0.7s']),
        (1, ['0', '0.2s', '0.4s', '0.6s', '0.8s', '1s']),
        (3.2, ['0', '0.5s', '1s', '1.5s', '2s', '2.5s', '3s']),
        (7, ['0', '1s', '2s', '3s', '4s', '5s', '6s', '7s']),
        (60, ['0', '10s', '20s', '30s', '40s', '50s', '60s']),
        (3600, ['0', '10m', '20m', '30m', '40m', '50m', '60m']),
        (86400 * 3, ['0', '12h', '24h', '36h', '2d', '2d12h', '3d']),
        (86400 * 70, ['0', '11d', '22d', '33d', '44d', '55d', '66d']),
    ],
)
def test_ticks(seconds: float, labels: list[str]) -> None:
    assert [tick.label for tick in layout.ticks(seconds)] == labels


def test_in_characters() -> None:
    lines = [line.plain.rstrip() for line in terminal.lines(layout.layout(HISTORY, m(100)), width=53)]
    assert lines[:9] == [
        'js: Completed after 40s, 1 restart',
        '            0         10s       20s       30s       40s'[:52].rstrip(),
        'js          ███████████████████████████████████████✓',
        '  prep',
        '    prep-0  ███████✓            ███████✓',
        '  train     ░░░░░░░░            ░░░░░░░░',
        '    train-0         ▒▒▒▒█████✗          ███████████✓',
        '    train-1         ▒▒▓▓▓▓▓▓▓▓▓▓',
        'restarts                        ↻',
    ]


def test_what_is_short_is_seen_nevertheless() -> None:
    runs = [Run('js-a-0', 'a', 0, m(0), m(0), m(0), End.COMPLETE)]
    chart = layout.layout(
        History(name='js', begin=m(0), end=m(3000), outcome='Completed', groups=['a'], runs=runs), m(0)
    )
    assert [line.plain for line in terminal.lines(chart, width=40)][4].split() == ['a-0', '✓']


def test_svg_is_xml_with_all_that_is_in_the_chart() -> None:
    odd = History(
        name='js',
        begin=m(0),
        end=m(10),
        outcome='Failed',
        groups=['a'],
        runs=[Run('js-a-0', 'a', 0, m(0), m(1), m(10), End.FAILED, 'Odd', 'a < b & "c"\x00')],
    )
    root = ET.fromstring(svg.text(shapes.drawing(layout.layout(odd, m(10)))))  # noqa: S314 - our own
    texts = [element.text for element in root.iter() if element.text and element.text.strip()]
    assert texts[0] == 'js: Failed after 10s'
    assert 'a < b & "c" ' in texts
    assert 'attempt 0: Failed (Odd)' in texts
    assert (root.get('width'), root.get('viewBox')) == ('1000', f'0 0 1000 {root.get("height")}')


def test_drawings_stay_inside() -> None:
    drawing = shapes.drawing(layout.layout(HISTORY, m(100)))
    for shape in drawing.shapes:
        match shape:
            case shapes.Box(x, y, width, height):
                assert 0 <= x <= x + width <= drawing.width
                assert 0 <= y <= y + height <= drawing.height
            case shapes.Label(x, y, text):
                assert 0 <= x <= x + len(text) <= drawing.width
                assert 0 <= y <= drawing.height


@pytest.fixture
def finished(cluster: fakes.Cluster) -> fakes.Cluster:
    """A JobSet of one Job that has completed."""
    status = {'conditions': [facts.condition('Completed', 'AllJobsCompleted', since=10)]}
    cluster.put(facts.jobset(facts.group('a'), status=status))
    ended = [facts.condition('Complete', 'CompletionsReached')]
    cluster.put(facts.job('a', startTime=facts.at(0), completionTime=facts.at(10), conditions=ended))
    return cluster


@pytest.mark.usefixtures('finished')
def test_command(jobset: Jobset, tmp_path: Path) -> None:
    code, out, _ = jobset('timeline', 'js', '--width', '40')
    assert (code, out.splitlines()[0]) == (0, 'js: Completed after 10s')
    assert json.loads(jobset('timeline', 'js', '-o', 'json')[1])['outcome'] == 'Completed'
    file = tmp_path / 'a.svg'
    assert jobset('timeline', 'js', '-o', str(file)) == (0, '', f'{file}: written\n')
    assert file.read_text().startswith('<svg ')
    assert jobset('timeline', 'js', '-o', 'a.gif') == (
        2,
        '',
        'jobset: -o a.gif: a file that ends in .svg or .png, or json or yaml\n',
    )


@pytest.mark.usefixtures('finished')
def test_png_without_pillow(jobset: Jobset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'PIL.Image', None)
    code, _, err = jobset('timeline', 'js', '-o', str(tmp_path / 'a.png'))
    assert (code, err) == (
        1,
        'jobset: a PNG needs Pillow: pip install pillow; or write a .svg, which any browser shows\n',
    )
    assert list(tmp_path.iterdir()) == []


def test_png() -> None:
    pytest.importorskip('PIL')
    image = png.image(shapes.drawing(layout.layout(HISTORY, m(100))))
    assert image.startswith(b'\x89PNG\r\n')
