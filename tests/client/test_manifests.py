"""Manifest files: what they hold, where it stands, and what is wrong with them."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from jobset.client import manifests, values
from jobset.client.manifests import Position


def read(text: str) -> manifests.Contents:
    return manifests.parse(text.encode(), 'f.yaml')


def problems(text: str) -> list[str]:
    return [str(problem) for problem in read(text).problems]


def value(text: str) -> object:
    contents = read(f'v: {text}')
    assert contents.problems == []
    return contents.documents[0].obj['v']


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('y', True),
        ('n', False),
        ('on', True),
        ('Off', False),
        ('0777', 511),
        ('0o17', 15),
        ('0x1F', 31),
        ('0b11', 3),
        ('1_000', 1000),
        ('1:30', '1:30'),
        ('12:30:45', '12:30:45'),
        ('1e3', 1000),
        ('1.5e3', 1500),
        ('1.', 1),
        ('.5', 0.5),
        ('+.5', 0.5),
        ('2001-12-14', '2001-12-14'),
        ('2001-12-14T21:59:43Z', '2001-12-14T21:59:43Z'),
        ('~', None),
        ('', None),
        ('Null', None),
        ('=', '='),
        ('+12', 12),
        ('-0', 0),
        ('08', 8),
        ('1__0', 10),
        ('9223372036854775808', 9223372036854775808),
        ('0.1.2', '0.1.2'),
        ('1e', '1e'),
        ('0x', '0x'),
        ('1_0.5', 10.5),
        ('"12"', '12'),
        ("'y'", 'y'),
        ('!!str 4', '4'),
        ('!!int "3"', 3),
        ('!!binary aGFsbG8=', 'hallo'),
        ('{1: a, true: b, 1.5: c, ~: d}', {'1': 'a', 'true': 'b', '1.5': 'c', 'null': 'd'}),
        ('9' * 5000, '9' * 5000),
    ],
)
def test_scalars_mean_what_kubectl_takes_them_for(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


def test_several_documents_in_one_file() -> None:
    contents = read('---\n# nothing\n---\nkind: A\nmetadata: {name: a}\n---\n\nkind: B\napiVersion: g/v\n...\n')
    assert contents.problems == []
    assert [(one.kind, one.name, one.line, one.file) for one in contents.documents] == [
        ('A', 'a', 4, 'f.yaml'),
        ('B', '', 8, 'f.yaml'),
    ]


def test_documents_before_a_broken_one_count() -> None:
    contents = read('kind: A\n---\nkind: [B\nx: 1\n')
    assert [one.kind for one in contents.documents] == ['A']
    assert [str(problem) for problem in contents.problems] == [
        "f.yaml:4:2: is no YAML: did not find expected ',' or ']' (while parsing a flow sequence)"
    ]


@pytest.mark.parametrize(
    ('path', 'expected'),
    [
        ('', Position(1, 1)),
        ('kind', Position(1, 1)),
        ('metadata.labels[example.com/a]', Position(3, 12)),
        ('spec.list', Position(5, 3)),
        ('spec.list[0].name', Position(6, 5)),
        ('spec.list[1]', Position(7, 5)),
        ('spec.list[1].name', Position(7, 6)),
        ('spec.list[1].absent.deeper', Position(7, 5)),
        ('spec.list[7]', Position(5, 3)),
        ('nothing', Position(1, 1)),
        ('<nil>', Position(1, 1)),
    ],
)
def test_positions(path: str, expected: Position) -> None:
    text = 'kind: A\nmetadata:\n  labels: {example.com/a: b}\nspec:\n  list:\n  - name: a\n  - {name: b}\n'
    assert read(text).documents[0].position(path) == expected


def test_anchors_aliases_and_merges() -> None:
    text = 'base: &b {x: 1, w: {z: 2}}\none: *b\ntwo:\n  <<: *b\n  x: 3\nthree: {<<: [{x: 4}, *b], v: 5}\n'
    contents = read(text)
    assert contents.problems == []
    document = contents.documents[0]
    assert document.obj == {
        'base': {'x': 1, 'w': {'z': 2}},
        'one': {'x': 1, 'w': {'z': 2}},
        'two': {'x': 3, 'w': {'z': 2}},
        'three': {'x': 4, 'w': {'z': 2}, 'v': 5},
    }
    assert document.position('two.w.z') == (1, 21)
    assert document.position('two.x') == (5, 3)


def test_expanded_aliases_are_not_one_object() -> None:
    obj = read('a: &a {x: 1}\nb: *a\n').documents[0].obj
    obj['a']['x'] = 2
    assert obj['b'] == {'x': 1}


def test_list_of_objects() -> None:
    contents = read('kind: List\napiVersion: v1\nitems:\n- kind: A\n  metadata: {name: a}\n- 3\n- {kind: B}\n')
    assert [(one.kind, one.line, one.position('metadata.name')) for one in contents.documents] == [
        ('A', 4, (5, 14)),
        ('B', 7, (7, 3)),
    ]
    assert [str(problem) for problem in contents.problems] == ['f.yaml:1:1: items[1]: must be an object']


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        pytest.param('', ['f.yaml: is empty: it holds no object'], id='empty'),
        pytest.param('# a\n---\n', ['f.yaml: is empty: it holds no object'], id='comments only'),
        pytest.param('- a\n', ['f.yaml:1:1: must be an object, with fields such as apiVersion and kind'], id='list'),
        pytest.param('hello', ['f.yaml:1:1: must be an object, with fields such as apiVersion and kind'], id='text'),
        pytest.param('a: 1\nb: {x: 1, x: 2}\na: 3\n', [
            'f.yaml:2:11: b.x: given twice, first in line 2; remove one',
            'f.yaml:3:1: a: given twice, first in line 1; remove one',
        ], id='keys given twice'),
        pytest.param('a: &a [*a]\n', ['f.yaml:1:4: a[0]: refers to itself through an alias'], id='in a circle'),
        pytest.param('? [a]\n: b\n', ['f.yaml:1:3: a key must be a text'], id='a list as a key'),
        pytest.param('a: !foo b\n', ['f.yaml:1:4: a: unknown tag !foo; remove it'], id='tag'),
        pytest.param('a: .inf\n', [
            'f.yaml:1:4: a: .inf cannot be sent to a server; write another number, or quote it',
        ], id='infinite'),
        pytest.param('a: 1e999\n', ['f.yaml:1:4: a: 1e999 is too large for a number; quote it'], id='too large'),
        pytest.param('a: {<<: 3}\n', ['f.yaml:1:9: a: "<<" takes an object or a list of them'], id='merge of a number'),
        pytest.param('a: *nobody\n', [
            "f.yaml:1:4: is no YAML: found undefined alias",
        ], id='unknown alias'),
        pytest.param('a:\n\tb: c\n', [
            'f.yaml:2:1: is no YAML: a tab; use spaces to indent',
        ], id='tab'),
        pytest.param('a:\n  -\tb: c\n', ['f.yaml:2:4: is no YAML: a tab; use spaces to indent'], id='tab in a list'),
        pytest.param('a: b\tc: d\n', [
            'f.yaml:1:7: is no YAML: mapping values are not allowed in this context',
        ], id='tab elsewhere'),
    ],
)  # fmt: skip
def test_mistakes(text: str, expected: list[str]) -> None:
    assert problems(text) == expected


def test_json_with_tabs_and_halves() -> None:
    obj = {'kind': 'A', 'spec': {'text': 'a\tb\\ud83d \N{GRINNING FACE}', 'list': [1, {'x': None}]}}
    contents = read(json.dumps(obj, indent='\t'))
    assert (contents.documents[0].obj, contents.problems) == (obj, [])
    assert contents.documents[0].position('spec.list[1].x') == (8, 5)


def test_bomb_of_aliases_is_refused() -> None:
    lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
    lines += [f'a{i}: &a{i} [{", ".join([f"*a{i - 1}"] * 10)}]' for i in range(1, 12)]
    assert problems('\n'.join(lines)) == [
        f'f.yaml:1:1: stands for more than {values.MOST_VALUES} values; are aliases nested?'
    ]


def test_depth_is_bounded() -> None:
    assert problems('a: ' + '[' * 100_000) == [
        'f.yaml:1:1003: is no YAML: exceeded maximum nesting depth (while increasing flow level)'
    ]


def test_binary_file_is_told_with_its_place() -> None:
    found = manifests.parse(b'kind: A\nx: \xff\xfe\n', 'f.yaml')
    assert [str(problem) for problem in found.problems] == ['f.yaml:2:4: is no UTF-8 text']


def test_byte_order_mark_is_ignored() -> None:
    assert manifests.parse(b'\xef\xbb\xbfkind: A\n', 'f').documents[0].kind == 'A'


def test_control_characters() -> None:
    assert problems('a: b\x00c') == ['f.yaml: is no YAML: control characters are not allowed']


def test_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / 'b.yaml').write_text('kind: B')
    (tmp_path / 'a.json').write_text('{"kind": "A"}')
    (tmp_path / 'note.txt').write_text('no manifest')
    (tmp_path / 'sub').mkdir()
    (tmp_path / 'sub' / 'c.yml').write_text('kind: C')
    (tmp_path / 'void').mkdir()

    def kinds(*files: Path, recursive: bool = False) -> list[str]:
        return [one.kind for one in manifests.read_all([str(file) for file in files], recursive=recursive).documents]

    assert kinds(tmp_path) == ['A', 'B']
    assert kinds(tmp_path, recursive=True) == ['A', 'B', 'C']
    assert kinds(tmp_path / 'b.yaml', tmp_path / 'a.json') == ['B', 'A']
    missing = manifests.read_all([str(tmp_path / 'absent'), str(tmp_path / 'void')])
    assert [(str(problem), problem.unreadable) for problem in missing.problems] == [
        (f'{tmp_path}/absent: cannot be read: No such file or directory', True),
        (f'{tmp_path}/void: a folder without .yaml, .yml or .json files', True),
    ]


def test_large_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / 'large.yaml'
    with file.open('wb') as opened:
        opened.truncate(manifests.MOST_BYTES + 1)
    assert [str(problem) for problem in manifests.read(str(file)).problems] == [
        f'{file}: has more than 8 MiB; split it'
    ]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, 'stdin', SimpleNamespace(buffer=io.BytesIO(b'kind: A\nx: [')))
    found = manifests.read('-')
    assert [problem.file for problem in found.problems] == ['<stdin>']


def test_positions_in_the_words_of_server_side_apply() -> None:
    text = 'kind: A\nspec:\n  jobs:\n  - name: a\n  - name: b\n    extra: 1\n'
    document = read(text).documents[0]
    assert document.position('spec.jobs[name="b"].extra') == (6, 5)
    assert document.position('spec.jobs[name="c"].extra') == (3, 3)
