"""Writes by several managers to one object, one after another. What a real server made of them is in ``data``."""

from typing import Any, Final

Json = dict[str, Any]
Step = tuple[Any, ...]
"""Verb (create, apply, merge, strategic, json, replace), manager, body, and perhaps ``'force'`` or ``'status'``."""


def _container(name: str, **more: Any) -> Json:
    """A container with all that a server would fill in, so that nothing is."""
    return {
        'name': name,
        'image': 'i',
        'imagePullPolicy': 'Always',
        'terminationMessagePath': '/dev/termination-log',
        'terminationMessagePolicy': 'File',
        **more,
    }


def template(*containers: Json, labels: Json | None = None, **more: Any) -> Json:
    """A PodTemplate: pods as Jobs have them, without a controller or rules for updates in the way."""
    spec = {
        'restartPolicy': 'Always',
        'dnsPolicy': 'ClusterFirst',
        'schedulerName': 'default-scheduler',
        'securityContext': {},
        'terminationGracePeriodSeconds': 30,
        'containers': list(containers),
        **more,
    }
    meta = {'labels': labels} if labels else {}
    return {
        'apiVersion': 'v1',
        'kind': 'PodTemplate',
        'metadata': {'name': 'o'},
        'template': {'metadata': meta, 'spec': spec},
    }


def part(**template_parts: Any) -> Json:
    """Some of a PodTemplate, to apply."""
    return {'apiVersion': 'v1', 'kind': 'PodTemplate', 'metadata': {'name': 'o'}, 'template': template_parts}


def thing(spec: Json, **more: Any) -> Json:
    """An object of the CRD below."""
    return {'apiVersion': 'a.example.com/v1', 'kind': 'Thing', 'metadata': {'name': 'o'}, 'spec': spec, **more}


def config(data: Json | None = None, **meta: Any) -> Json:
    """A ConfigMap."""
    made: Json = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'o', **meta}}
    return made if data is None else made | {'data': data}


def job(**spec: Any) -> Json:
    """A suspended Job, with all that a server would fill in."""
    pod = template(_container('main'))['template']
    pod['spec']['restartPolicy'] = 'Never'
    standard = {
        'parallelism': 1,
        'completions': 1,
        'backoffLimit': 6,
        'completionMode': 'NonIndexed',
        'suspend': True,
        'podReplacementPolicy': 'TerminatingOrFailed',
        'manualSelector': False,
        'template': pod,
    }
    return {'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': 'o'}, 'spec': standard | spec}


def _job_part(**spec: Any) -> Json:
    return {'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': 'o'}, 'spec': spec}


SCHEMA: Final[Json] = {
    'type': 'object',
    'properties': {
        'spec': {
            'type': 'object',
            'properties': {
                'replicas': {'type': 'integer'},
                'text': {'type': 'string'},
                'defaulted': {'type': 'string', 'default': 'made'},
                'plain': {'type': 'array', 'items': {'type': 'string'}},
                'set': {'type': 'array', 'items': {'type': 'string'}, 'x-kubernetes-list-type': 'set'},
                'numbers': {'type': 'array', 'items': {'type': 'integer'}, 'x-kubernetes-list-type': 'set'},
                'map': {
                    'type': 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['a', 'b'],
                    'items': {
                        'type': 'object',
                        'required': ['a'],
                        'properties': {
                            'a': {'type': 'string'},
                            'b': {'type': 'integer', 'default': 0},
                            'v': {'type': 'string'},
                            'w': {'type': 'object', 'properties': {'x': {'type': 'string'}, 'y': {'type': 'string'}}},
                        },
                    },
                },
                'deep': {
                    'type': 'object',
                    'properties': {
                        'one': {'type': 'object', 'properties': {'x': {'type': 'string'}, 'y': {'type': 'string'}}},
                        'two': {'type': 'string'},
                    },
                },
                'atomic': {
                    'type': 'object',
                    'x-kubernetes-map-type': 'atomic',
                    'properties': {'x': {'type': 'string'}, 'y': {'type': 'string'}},
                },
                'labels': {'type': 'object', 'additionalProperties': {'type': 'string'}},
                'objects': {
                    'type': 'object',
                    'additionalProperties': {
                        'type': 'object',
                        'properties': {'x': {'type': 'string'}, 'y': {'type': 'string'}},
                    },
                },
                'free': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True},
            },
        },
        'status': {'type': 'object', 'properties': {'x': {'type': 'integer'}, 'y': {'type': 'integer'}}},
    },
}
"""The schema of Thing, which has a status subresource."""

SEQUENCES: Final[dict[str, list[Step]]] = {
    'conflict-and-force': [
        ('apply', 'a', thing({'replicas': 1, 'text': 'x'})),
        ('apply', 'b', thing({'replicas': 2})),
        ('apply', 'b', thing({'replicas': 2, 'text': 'y'})),
        ('apply', 'b', thing({'replicas': 1})),
        ('apply', 'b', thing({'replicas': 2}), 'force'),
        ('apply', 'a', thing({'text': 'x'})),
        ('apply', 'b', thing({})),
    ],
    'conflict-with-several': [
        ('apply', 'a', thing({'replicas': 1, 'text': 'x', 'labels': {'k': 'v'}})),
        ('apply', 'b', thing({'deep': {'two': '2'}, 'set': ['s'], 'map': [{'a': 'n', 'v': '1'}]})),
        ('merge', 'c', {'spec': {'text': 'y'}}),
        (
            'apply',
            'd',
            thing(
                {'replicas': 2, 'text': 'z', 'labels': {'k': 'w'}, 'deep': {'two': '3'}, 'map': [{'a': 'n', 'v': '2'}]}
            ),
        ),
        ('apply', 'd', thing({'replicas': 2, 'text': 'z', 'labels': {'k': 'w'}, 'deep': {'two': '3'}}), 'force'),
    ],
    'shared-then-dropped': [
        ('apply', 'a', config({'k': '1', 'only': 'a'})),
        ('apply', 'b', config({'k': '1'})),
        ('apply', 'a', config({})),
        ('apply', 'b', config({'k': '2'})),
        ('apply', 'b', config()),
    ],
    'nothing-changes': [
        ('apply', 'a', config({'k': '1'})),
        ('apply', 'a', config({'k': '1'})),
        ('merge', 'b', {'data': {'k': '1'}}),
        ('merge', 'b', {'data': {'k': '2'}}),
        ('merge', 'b', {'data': {'k': '2'}}),
        ('merge', 'b', {'data': {'l': '1'}}),
        ('merge', 'b', {'data': {'l': None}}),
        ('merge', 'b', {'data': {'k': None}}),
    ],
    'maps-of-lists': [
        ('apply', 'a', thing({'map': [{'a': 'one', 'v': '1'}, {'a': 'two', 'b': 5, 'v': '2'}]})),
        ('apply', 'b', thing({'map': [{'a': 'zero', 'v': '0'}, {'a': 'one', 'w': {'x': '1'}}]})),
        ('apply', 'a', thing({'map': [{'a': 'two', 'b': 5, 'v': '2'}]})),
        ('apply', 'b', thing({'map': [{'a': 'three'}, {'a': 'zero', 'v': '0'}]})),
        ('apply', 'b', thing({'map': []})),
        ('apply', 'a', thing({})),
    ],
    'sets': [
        ('apply', 'a', thing({'set': ['x', 'y'], 'numbers': [1, 2], 'plain': ['p']})),
        ('apply', 'b', thing({'set': ['z', 'y'], 'numbers': [3]})),
        ('apply', 'a', thing({'set': ['y'], 'plain': ['p', 'q']})),
        ('apply', 'b', thing({'plain': ['q']})),
        ('apply', 'b', thing({'set': []})),
        ('apply', 'a', thing({})),
    ],
    'nested-and-atomic': [
        ('apply', 'a', thing({'deep': {'one': {'x': '1'}}, 'atomic': {'x': '1'}, 'objects': {'k': {'x': '1'}}})),
        ('apply', 'b', thing({'deep': {'one': {'y': '2'}}, 'objects': {'k': {'y': '2'}}})),
        ('apply', 'b', thing({'atomic': {'y': '2'}})),
        ('apply', 'b', thing({'atomic': {'y': '2'}}), 'force'),
        ('apply', 'a', thing({})),
        ('apply', 'b', thing({'deep': {'two': 'z'}})),
        ('apply', 'b', thing({})),
    ],
    'unknown-structure': [
        ('apply', 'a', thing({'free': {'a': {'b': 1, 'c': [1, {'d': 2}]}, 'e': {}}})),
        ('apply', 'b', thing({'free': {'a': {'f': 'g'}}})),
        ('apply', 'a', thing({'free': {'a': {'b': 2}}})),
        ('merge', 'c', {'spec': {'free': {'h': {'i': {'j': 1}}}}}),
    ],
    'defaults-have-no-owner': [
        ('apply', 'a', thing({'text': 'x'})),
        ('apply', 'b', thing({'defaulted': 'other'})),
        ('apply', 'b', thing({})),
        ('merge', 'c', {'spec': {'defaulted': 'third'}}),
    ],
    'created-then-applied': [
        (
            'create',
            'c',
            thing(
                {'replicas': 1, 'deep': {'one': {'x': '1'}}, 'set': ['s'], 'map': [{'a': 'n'}], 'labels': {'k': 'v'}}
            ),
        ),
        ('apply', 'a', thing({'replicas': 1})),
        ('apply', 'a', thing({'replicas': 2})),
        ('apply', 'a', thing({'replicas': 2}), 'force'),
        ('apply', 'a', thing({})),
        ('replace', 'c', thing({'text': 'only'})),
        ('replace', 'd', thing({'text': 'only', 'set': ['t']})),
        ('merge', 'e', {'metadata': {'managedFields': None}, 'spec': {'text': 'other'}}),
        ('merge', 'e', {'metadata': {'managedFields': []}, 'spec': {'text': 'third'}}),
    ],
    'never-tracked': [
        ('create', 'c', config({'k': '1'})),
        ('merge', 'c', {'metadata': {'managedFields': [{}]}}),
        ('merge', 'c', {'data': {'k': '2'}}),
        ('apply', 'a', config({'k': '3'})),
        ('apply', 'a', config({'k': '3'}), 'force'),
    ],
    'managed-fields-given': [
        ('create', 'c', config({'k': '1'})),
        ('merge', 'b', {'metadata': {'managedFields': []}, 'data': {'l': '1'}}),
        ('merge', 'b', {'metadata': {'managedFields': None}, 'data': {'m': '1'}}),
        ('apply', 'a', config({'k': '1'}, managedFields=[{'manager': 'x', 'operation': 'Apply'}])),
        (
            'json',
            'd',
            [
                {
                    'op': 'replace',
                    'path': '/metadata/managedFields',
                    'value': [
                        {
                            'manager': 'x',
                            'operation': 'Apply',
                            'apiVersion': 'v1',
                            'fieldsType': 'FieldsV1',
                            'time': '2020-01-01T00:00:00Z',
                            'fieldsV1': {'f:data': {'f:k': {}}},
                        }
                    ],
                }
            ],
        ),
        ('apply', 'x', config({'l': '1'})),
    ],
    'status': [
        ('create', 'c', thing({'text': 'x'}, status={'x': 1})),
        ('merge', 's', {'status': {'x': 1}}, 'status'),
        ('merge', 's', {'status': {'y': 1}, 'spec': {'text': 'no'}}),
        ('merge', 's', {'status': {'y': 1}, 'spec': {'text': 'no'}}, 'status'),
        ('apply', 't', thing({}, status={'x': 2}), 'status'),
        ('apply', 't', thing({}, status={'x': 2}), 'status', 'force'),
        ('apply', 't', thing({'text': 'q'}, status={'x': 3})),
        ('apply', 't', thing({'text': 'q'}, status={'x': 3}), 'force'),
    ],
    'metadata': [
        ('apply', 'a', config({}, labels={'x': '1'}, annotations={'y': '2'}, finalizers=['e.example.com/f'])),
        ('apply', 'b', config({}, labels={'z': '3'}, finalizers=['e.example.com/g'])),
        ('apply', 'a', config({})),
        ('merge', 'c', {'metadata': {'labels': {'z': '4'}, 'finalizers': None}}),
    ],
    'same-manager-both-ways': [
        ('apply', 'm', config({'k': '1'})),
        ('merge', 'm', {'data': {'k': '2'}}),
        ('apply', 'm', config({'k': '3'})),
        ('apply', 'm', config({'l': '1'})),
    ],
    'pods': [
        (
            'create',
            'c',
            template(
                _container('one', env=[{'name': 'A', 'value': '1'}, {'name': 'B', 'value': '2'}], args=['x']),
                _container('two', resources={'limits': {'cpu': '1'}}, ports=[{'containerPort': 80, 'protocol': 'TCP'}]),
                labels={'l': '1'},
                volumes=[{'name': 'v', 'emptyDir': {}}],
                tolerations=[{'key': 'k', 'operator': 'Exists'}],
                nodeSelector={'n': '1'},
            ),
        ),
        (
            'apply',
            'a',
            part(spec={'containers': [{'name': 'one', 'image': 'i', 'env': [{'name': 'C', 'value': '3'}]}]}),
        ),
        ('apply', 'a', part(spec={'containers': [{'name': 'one', 'env': [{'name': 'A', 'value': '4'}]}]})),
        ('apply', 'a', part(spec={'containers': [{'name': 'one', 'env': [{'name': 'A', 'value': '4'}]}]}), 'force'),
        (
            'apply',
            'a',
            part(
                spec={
                    'containers': [
                        {'name': 'two', 'ports': [{'containerPort': 81}], 'resources': {'limits': {'memory': '1Gi'}}}
                    ]
                }
            ),
        ),
        (
            'strategic',
            'd',
            {'template': {'spec': {'containers': [{'name': 'one', 'image': 'j'}], 'nodeSelector': {'m': '2'}}}},
        ),
        ('merge', 'e', {'template': {'spec': {'volumes': None, 'tolerations': []}}}),
    ],
    'applied-pods': [
        (
            'apply',
            'a',
            template(
                _container('one', env=[{'name': 'A', 'value': '1'}], volumeMounts=[{'name': 'v', 'mountPath': '/v'}]),
                volumes=[{'name': 'v', 'emptyDir': {}}],
            ),
        ),
        ('apply', 'a', template(_container('one', env=[{'name': 'A', 'value': '1'}]))),
        ('apply', 'b', part(metadata={'labels': {'k': 'v'}}, spec={'containers': [_container('side')]})),
        ('apply', 'a', template(_container('one'))),
    ],
    'jobs': [
        ('create', 'c', job()),
        ('apply', 'a', _job_part(suspend=True, parallelism=2)),
        ('apply', 'a', _job_part(suspend=True, parallelism=2), 'force'),
        ('merge', 'c', {'spec': {'parallelism': 3}}),
        ('apply', 'a', _job_part(suspend=True)),
        ('apply', 'a', {'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': 'o', 'labels': {'x': 'y'}}}),
    ],
    'order-of-managers': [
        ('create', 'z', config({'k': '1'})),
        ('merge', 'b', {'data': {'b': '1'}}),
        ('merge', 'a', {'data': {'a': '1'}}),
        ('apply', 'y', config({'y': '1'})),
        ('apply', 'x', config({'x': '1'})),
        ('merge', 'z', {'data': {'z': '1'}}),
        ('apply', 'y', config({'y': '1'})),
        ('apply', 'y', config({'y': '2'})),
    ],
    'too-many-managers': [
        ('create', 'm00', config({'k': '1'})),
        *[('merge', f'm{index:02}', {'data': {f'k{index}': '1'}}) for index in range(1, 13)],
    ],
    'strategic-merges': [
        (
            'create',
            'c',
            template(
                _container('one', env=[{'name': 'A', 'value': '1'}, {'name': 'B', 'value': '2'}], args=['x']),
                _container('two'),
                volumes=[{'name': 'v', 'emptyDir': {}}, {'name': 'w', 'emptyDir': {}}],
                nodeSelector={'n': '1'},
            )
            | {'metadata': {'name': 'o', 'labels': {'x': 'y'}, 'finalizers': ['a.example.com/a', 'b.example.com/b']}},
        ),
        ('strategic', 'c', {'metadata': {'labels': {'$patch': 'replace', 'q': 'w'}}}),
        ('strategic', 'c', {'metadata': {'labels': {'$patch': 'delete'}}}),
        ('strategic', 'c', {'metadata': {'labels': {'$patch': 'bad'}}}),
        ('strategic', 'c', {'metadata': {'finalizers': ['c.example.com/c']}}),
        (
            'strategic',
            'c',
            {'metadata': {'$deleteFromPrimitiveList/finalizers': ['c.example.com/c', 'none.example.com/n']}},
        ),
        ('strategic', 'c', {'metadata': {'$setElementOrder/finalizers': ['b.example.com/b', 'a.example.com/a']}}),
        (
            'strategic',
            'c',
            {
                'metadata': {
                    '$setElementOrder/finalizers': ['b.example.com/b', 'd.example.com/d', 'a.example.com/a'],
                    'finalizers': ['d.example.com/d'],
                }
            },
        ),
        (
            'strategic',
            'c',
            {'metadata': {'$setElementOrder/finalizers': ['b.example.com/b'], 'finalizers': ['e.example.com/e']}},
        ),
        ('strategic', 'c', {'metadata': {'finalizers': None}}),
        ('strategic', 'c', {'template': {'spec': {'containers': [{'name': 'two', 'image': 'new'}]}}}),
        ('strategic', 'c', {'template': {'spec': {'containers': [_container('three')]}}}),
        (
            'strategic',
            'c',
            {
                'template': {
                    'spec': {'containers': [_container('zero'), {'name': 'two', 'image': 'newer'}, _container('last')]}
                }
            },
        ),
        ('strategic', 'c', {'template': {'spec': {'containers': [{'image': 'new'}]}}}),
        ('strategic', 'c', {'template': {'spec': {'containers': 'x'}}}),
        ('strategic', 'c', {'template': {'spec': {'containers': {}}}}),
        (
            'strategic',
            'c',
            {
                'template': {
                    'spec': {
                        '$setElementOrder/containers': [{'name': 'two'}, {'name': 'one'}],
                        'containers': [{'name': 'one', 'image': 'n'}],
                    }
                }
            },
        ),
        (
            'strategic',
            'c',
            {
                'template': {
                    'spec': {
                        '$setElementOrder/containers': [{'name': 'two'}],
                        'containers': [{'name': 'one', 'image': 'n'}],
                    }
                }
            },
        ),
        (
            'strategic',
            'c',
            {
                'template': {
                    'spec': {
                        '$setElementOrder/containers': [{'foo': 'two'}],
                        'containers': [{'name': 'one', 'image': 'n'}],
                    }
                }
            },
        ),
        ('strategic', 'c', {'template': {'spec': {'containers': [{'name': 'three', '$patch': 'delete'}]}}}),
        ('strategic', 'c', {'template': {'spec': {'containers': [{'name': 'none', '$patch': 'delete'}]}}}),
        ('strategic', 'c', {'template': {'spec': {'containers': [{'$patch': 'delete'}]}}}),
        ('strategic', 'c', {'template': {'spec': {'containers': [{'name': 'one', '$patch': 'foo'}]}}}),
        ('strategic', 'c', {'template': {'spec': {'containers': [{'name': 'one', '$patch': 'merge', 'image': 'q'}]}}}),
        (
            'strategic',
            'c',
            {
                'template': {
                    'spec': {
                        'containers': [
                            {
                                'name': 'one',
                                'env': [{'name': 'B', 'value': '3'}, {'name': 'C', 'value': '3'}],
                                'args': ['y'],
                            }
                        ]
                    }
                }
            },
        ),
        (
            'strategic',
            'c',
            {'template': {'spec': {'containers': [{'name': 'one', 'env': [{'name': 'A', '$patch': 'delete'}]}]}}},
        ),
        ('strategic', 'c', {'template': {'spec': {'containers': [{'name': 'one', 'env': [{'$patch': 'replace'}]}]}}}),
        (
            'strategic',
            'c',
            {
                'template': {
                    'spec': {
                        'volumes': [
                            {
                                'name': 'v',
                                'configMap': {'name': 'x', 'defaultMode': 420},
                                '$retainKeys': ['name', 'configMap'],
                            }
                        ]
                    }
                }
            },
        ),
        (
            'strategic',
            'c',
            {'template': {'spec': {'volumes': [{'name': 'v', 'configMap': {'name': 'x'}, '$retainKeys': ['name']}]}}},
        ),
        ('strategic', 'c', {'template': {'spec': {'nodeSelector': {'n': None, 'm': '2'}}}}),
        ('strategic', 'c', {'template': {'spec': {'nodeSelector': {'$patch': 'replace', 'o': '3'}}}}),
        ('strategic', 'c', {'template': {'spec': {'containers': [{'$patch': 'replace'}, _container('sole')]}}}),
        ('strategic', 'c', [1]),
    ],
    'json-patches': [
        ('create', 'c', config({'a': '1', 'b': '2'})),
        ('json', 'c', [{'op': 'remove', 'path': '/data/c'}]),
        ('json', 'c', [{'op': 'replace', 'path': '/data/c', 'value': 'x'}]),
        ('json', 'c', [{'op': 'test', 'path': '/data/a', 'value': 'x'}]),
        ('json', 'c', [{'op': 'test', 'path': '/data/zz', 'value': None}]),
        ('json', 'c', [{'op': 'test', 'path': '/data/a', 'value': '1'}, {'op': 'remove', 'path': '/data/c'}]),
        ('json', 'c', [{'op': 'foo', 'path': '/data/a', 'value': '1'}]),
        ('json', 'c', [{'op': 'add', 'path': '/metadata/labels/x', 'value': '1'}]),
        ('json', 'c', [{'op': 'add', 'path': 'data', 'value': '1'}]),
        ('json', 'c', [{'op': 'add', 'value': '1'}]),
        ('json', 'c', [{'op': 'add', 'path': '/data/q'}]),
        ('json', 'c', [{'op': 'move', 'from': '/data/a', 'path': '/data/z'}]),
        ('json', 'c', [{'op': 'copy', 'from': '/data/z', 'path': '/data/a'}]),
        ('json', 'c', [{'op': 'copy', 'from': '/data/nope', 'path': '/data/n'}]),
        ('json', 'c', [{'op': 'move', 'from': '/data/nope', 'path': '/data/z'}]),
        ('json', 'c', [{'op': 'copy', 'path': '/data/z'}]),
        ('json', 'c', {'op': 'copy', 'path': '/data/z'}),
        ('json', 'c', []),
        (
            'json',
            'c',
            [
                {'op': 'add', 'path': '/metadata/finalizers', 'value': ['a.example.com/b']},
                {'op': 'add', 'path': '/metadata/finalizers/-', 'value': 'c.example.com/d'},
                {'op': 'add', 'path': '/metadata/finalizers/0', 'value': 'e.example.com/d'},
            ],
        ),
        ('json', 'c', [{'op': 'add', 'path': '/metadata/finalizers/5', 'value': 'f.example.com/d'}]),
        ('json', 'c', [{'op': 'remove', 'path': '/metadata/finalizers/5'}]),
        ('json', 'c', [{'op': 'remove', 'path': '/metadata/finalizers/x'}]),
        ('json', 'c', [{'op': 'replace', 'path': '/metadata/finalizers/-', 'value': 'x.example.com/x'}]),
        ('json', 'c', [{'op': 'remove', 'path': '/metadata/finalizers/-1'}]),
        (
            'json',
            'c',
            [
                {'op': 'test', 'path': '/metadata/finalizers/0', 'value': 'e.example.com/d'},
                {'op': 'remove', 'path': '/metadata/finalizers'},
            ],
        ),
        ('json', 'c', [{'op': 'add', 'path': '/data/a/b', 'value': 'x'}]),
        ('json', 'c', [{'op': 'remove', 'path': '/data/a/b'}]),
        (
            'json',
            'c',
            [
                {'op': 'add', 'path': '/data/a~1b', 'value': '1'},
                {'op': 'add', 'path': '/data/a~0b', 'value': '2'},
                {'op': 'move', 'from': '/data/a~1b', 'path': '/data/s'},
                {'op': 'move', 'from': '/data/a~0b', 'path': '/data/t'},
            ],
        ),
        ('json', 'c', [{'op': 'replace', 'path': '/data', 'value': {'fresh': '1'}}]),
    ],
    'merge-patches': [
        ('create', 'c', config({'a': '1', 'b': '2'})),
        ('merge', 'c', {'data': {'a': None, 'c': None, 'd': ''}}),
        ('merge', 'c', [1]),
        ('merge', 'c', 'null'),
        ('merge', 'c', {'data': None, 'metadata': {'labels': {'x': 'y'}}}),
        ('merge', 'c', {'data': {'n': 'm'}, 'metadata': {'labels': None}}),
    ],
}
