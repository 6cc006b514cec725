"""What is answered to which review, byte for byte."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from jobset.admission import reviews
from jobset.api import keys, validation
from tests.admission.asking import ALLOWED, OURS, POD_KIND, answer, jobset, patched, pod, responded, review


def refused(*causes: tuple[str, str, str], message: str) -> dict[str, Any]:
    return responded(
        allowed=False,
        status={
            'kind': 'Status',
            'apiVersion': 'v1',
            'metadata': {},
            'status': 'Failure',
            'message': message,
            'reason': 'Invalid',
            'details': {
                'name': 'train',
                'group': 'jobset.x-k8s.io',
                'kind': 'JobSet',
                'causes': [{'reason': reason, 'message': text, 'field': field} for reason, text, field in causes],
            },
            'code': 422,
        },
    )


NETWORK = {
    'op': 'add',
    'path': '/spec/network',
    'value': {'enableDNSHostnames': True, 'publishNotReadyAddresses': True},
}
NETWORK_FLAGS = [
    {'op': 'add', 'path': f'/spec/network/{key}', 'value': True}
    for key in ('enableDNSHostnames', 'publishNotReadyAddresses')
]


@pytest.mark.parametrize(
    ('body', 'expected'),
    [
        pytest.param(review(jobset()), ALLOWED, id='a complete object is not touched'),
        pytest.param(review(jobset(network=None)), patched(NETWORK), id='a default is added'),
        pytest.param(
            review(jobset(network=None), jobset(), operation='UPDATE'), ALLOWED, id='what was taken away stays away'
        ),
        pytest.param(
            review(jobset(network={}), jobset(), operation='UPDATE'),
            patched(*NETWORK_FLAGS),
            id='what was filled in is kept',
        ),
        pytest.param(
            review(jobset(network={}), jobset(network={}), operation='UPDATE'), ALLOWED, id='nothing is new on update'
        ),
        pytest.param(review(jobset(), None, operation='UPDATE'), ALLOWED, id='an update of nothing'),
        pytest.param(review(None, jobset(network=None), operation='DELETE'), ALLOWED, id='deletion'),
        pytest.param(review(jobset(network=None), subResource='status'), ALLOWED, id='a subresource'),
        pytest.param(review('no object'), ALLOWED, id='not an object: the schema judges'),
        pytest.param(review({'spec': []}), ALLOWED, id='a spec of the wrong type: the schema judges'),
        pytest.param(review(jobset(replicas='many')), ALLOWED, id='a field of the wrong type: the schema judges'),
        pytest.param(review(None), ALLOWED, id='no object at all'),
    ],
)
async def test_mutating_jobset(body: bytes, expected: Any) -> None:
    assert await answer(keys.MUTATE_JOBSET_PATH, body) == expected


UNKNOWN_TARGET = "invalid replicatedJob name 'x' does not appear in .spec.ReplicatedJobs"
UNREADABLE = (
    'the stored object cannot be read, delete it: '
    'spec.replicatedJobs[0].replicas: Invalid value: Expected int | null, got str'
)
SUBDOMAIN = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(
    ('body', 'expected'),
    [
        pytest.param(review(jobset()), ALLOWED, id='a good new object'),
        pytest.param(
            review(
                jobset(network={'subdomain': '1a'}, successPolicy={'operator': 'All', 'targetReplicatedJobs': ['x']})
            ),
            refused(
                ('FieldValueInvalid', f'Invalid value: "1a": {SUBDOMAIN}', 'spec.network.subdomain'),
                ('InternalError', f'Internal error: {UNKNOWN_TARGET}', '<nil>'),
                message='JobSet.jobset.x-k8s.io "train" is invalid: '
                f'[spec.network.subdomain: Invalid value: "1a": {SUBDOMAIN}, <nil>: Internal error: {UNKNOWN_TARGET}]',
            ),
            id='all mistakes of a new object at once',
        ),
        pytest.param(
            review(jobset(replicas='many')),
            refused(
                ('FieldValueInvalid', 'Invalid value: Expected int | null, got str', 'spec.replicatedJobs[0].replicas'),
                message='JobSet.jobset.x-k8s.io "train" is invalid: '
                'spec.replicatedJobs[0].replicas: Invalid value: Expected int | null, got str',
            ),
            id='a field of the wrong type is named',
        ),
        pytest.param(
            review(jobset(replicatedJobs=[{'name': 'a', 'template': {'spec': {'parallelism': 'x'}}}])),
            refused(
                (
                    'FieldValueInvalid',
                    'Invalid value: Expected int | null, got str',
                    'spec.replicatedJobs[0].template.spec.parallelism',
                ),
                message='JobSet.jobset.x-k8s.io "train" is invalid: '
                'spec.replicatedJobs[0].template.spec.parallelism: Invalid value: Expected int | null, got str',
            ),
            id='a field of the wrong type inside a template is named',
        ),
        pytest.param(
            review(jobset(volumeClaimPolicies=[{'templates': [{'metadata': {'name': 1}}]}])),
            refused(
                (
                    'FieldValueInvalid',
                    'Invalid value: Expected str, got int',
                    'spec.volumeClaimPolicies[0].templates.metadata.name',
                ),
                message='JobSet.jobset.x-k8s.io "train" is invalid: '
                'spec.volumeClaimPolicies[0].templates.metadata.name: Invalid value: Expected str, got int',
            ),
            id='a field of the wrong type inside a claim is named',
        ),
        pytest.param(
            review('no object'),
            refused(
                ('FieldValueInvalid', 'Invalid value: Expected object, got str', '<nil>'),
                message='JobSet.jobset.x-k8s.io "train" is invalid: <nil>: Invalid value: Expected object, got str',
            ),
            id='something that is no object',
        ),
        pytest.param(
            review(jobset(managedBy='b.io/c'), jobset(), operation='UPDATE'),
            refused(
                ('FieldValueInvalid', 'Invalid value: "b.io/c": field is immutable', 'spec.managedBy'),
                message='JobSet.jobset.x-k8s.io "train" is invalid: '
                'spec.managedBy: Invalid value: "b.io/c": field is immutable',
            ),
            id='a change of what may not change',
        ),
        pytest.param(
            review(jobset(suspend=True), jobset(), operation='UPDATE'), ALLOWED, id='a change of what may change'
        ),
        pytest.param(
            review(jobset(replicas='many'), jobset(replicas='many'), operation='UPDATE'),
            ALLOWED,
            id='finalizers come off an object that cannot be read',
        ),
        pytest.param(
            review(jobset(), jobset(replicas='many'), operation='UPDATE'),
            refused(
                (
                    'InternalError',
                    f'Internal error: {UNREADABLE}',
                    '<nil>',
                ),
                message=f'JobSet.jobset.x-k8s.io "train" is invalid: <nil>: Internal error: {UNREADABLE}',
            ),
            id='a stored object that cannot be read is not changed',
        ),
        pytest.param(review(None, jobset(replicas='many'), operation='DELETE'), ALLOWED, id='deletion is not judged'),
        pytest.param(review({}, {}, operation='UPDATE', subResource='status'), ALLOWED, id='status is not judged'),
    ],
)
async def test_validating_jobset(body: bytes, expected: Any) -> None:
    assert await answer(keys.VALIDATE_JOBSET_PATH, body) == expected


async def test_existing_claims_are_looked_up_in_the_namespace_of_the_request() -> None:
    asked = []

    async def look_up(namespace: str, names: Sequence[str]) -> Mapping[str, validation.Found]:
        asked.append((namespace, list(names)))
        return {'data-train': validation.UnknownClaim('the server is on fire')}

    pod = {'containers': [{'name': 'main', 'volumeMounts': [{'name': 'data', 'mountPath': '/data'}]}]}
    jobs = [{'name': 'a', 'groupName': 'default', 'replicas': 1, 'template': {'spec': {'template': {'spec': pod}}}}]
    policies = [
        {'templates': [{'metadata': {'name': 'data'}, 'spec': {}}], 'retentionPolicy': {'whenDeleted': 'Retain'}}
    ]
    sent = jobset(replicatedJobs=jobs, volumeClaimPolicies=policies)
    text = 'Internal error: failed to check for existing PVC data-train: the server is on fire'
    assert await answer(keys.VALIDATE_JOBSET_PATH, review(sent), look_up=look_up) == refused(
        ('InternalError', text, '<nil>'),
        message=f'JobSet.jobset.x-k8s.io "train" is invalid: <nil>: {text}',
    )
    assert asked == [('team-a', ['data-train'])]


PRIORITY = 'jobset.sigs.k8s.io/priority'


def added(value: str) -> dict[str, Any]:
    return patched({'op': 'add', 'path': '/metadata/labels/jobset.sigs.k8s.io~1priority', 'value': value})


@pytest.mark.parametrize(
    ('sent', 'expected'),
    [
        pytest.param(pod(annotations=OURS, labels=OURS), added('7'), id='a pod of a JobSet gets its priority'),
        pytest.param(pod(annotations=OURS, labels=OURS, priority=0), added('0'), id='zero is a priority'),
        pytest.param(
            pod(annotations=OURS, labels=OURS, priority=2000001000), added('2000001000'), id='the highest of all'
        ),
        pytest.param(pod(annotations=OURS, labels=OURS, priority=-5), ALLOWED, id='a negative one is no label value'),
        pytest.param(pod(annotations=OURS, labels=OURS, priority=None), ALLOWED, id='no priority'),
        pytest.param(
            pod(annotations=OURS),
            patched({'op': 'add', 'path': '/metadata/labels', 'value': {PRIORITY: '7'}}),
            id='the first label of all',
        ),
        pytest.param(pod(annotations=OURS, labels={PRIORITY: '7'}), ALLOWED, id='the right label is there'),
        pytest.param(pod(annotations=OURS, labels={PRIORITY: '8'}), added('7'), id='a wrong label is replaced'),
        pytest.param(pod(labels=OURS), ALLOWED, id='the label alone does not make it ours'),
        pytest.param(pod(annotations={}, labels={}), ALLOWED, id='a pod of somebody else'),
        pytest.param(
            pod(annotations=OURS | {'alpha.jobset.sigs.k8s.io/node-selector': 'true'}, labels=OURS),
            ALLOWED,
            id='placed by a node selector',
        ),
        pytest.param({'metadata': {'annotations': 3}}, ALLOWED, id='what is no pod is refused by the server itself'),
    ],
)
async def test_mutating_pod(sent: Any, expected: Any) -> None:
    assert await answer(keys.MUTATE_POD_PATH, review(sent, kind=POD_KIND)) == expected


@pytest.mark.parametrize(
    ('operation', 'more'),
    [
        pytest.param('UPDATE', {}, id='a change'),
        pytest.param('CREATE', {'subResource': 'binding'}, id='a subresource'),
    ],
)
async def test_other_pod_requests_are_let_through(operation: str, more: Any) -> None:
    body = review(pod(annotations=OURS, labels=OURS), kind=POD_KIND, operation=operation, **more)
    assert await answer(keys.MUTATE_POD_PATH, body) == ALLOWED


async def test_every_pod_is_valid() -> None:
    assert await answer(keys.VALIDATE_POD_PATH, review(pod(annotations=OURS), kind=POD_KIND)) == ALLOWED


async def test_what_is_nested_as_deeply_as_can_be_read_is_judged() -> None:
    deep: Any = 1
    for _ in range(400):
        deep = [deep]
    sent = jobset(replicatedJobs=[{'name': 'a', 'replicas': 1, 'template': {'spec': {'unknown': deep}}}])
    assert await answer(keys.VALIDATE_JOBSET_PATH, review(sent)) == ALLOWED


@pytest.mark.parametrize(
    ('body', 'text'),
    [
        pytest.param(b'', 'request body: not an AdmissionReview: Input data was truncated', id='nothing'),
        pytest.param(
            b'{"kind": 3}',
            'request body: not an AdmissionReview: Expected `str`, got `int` - at `$.kind`',
            id='wrong type',
        ),
        pytest.param(b'{"request": {"object": ' + b'[' * 100_000, 'request body: nested too deeply', id='a bomb'),
        pytest.param(
            b'{}',
            'request body: got nothing of no version; send AdmissionReview of admission.k8s.io/v1',
            id='empty',
        ),
        pytest.param(
            review(jobset()).replace(b'admission.k8s.io/v1', b'admission.k8s.io/v1beta1'),
            'request body: got AdmissionReview of admission.k8s.io/v1beta1; '
            'send AdmissionReview of admission.k8s.io/v1',
            id='an old version',
        ),
        pytest.param(
            b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": {}}',
            'request: missing, or without uid; send the question, not the answer',
            id='an answer',
        ),
        pytest.param(
            review(jobset(), uid=''),
            'request: missing, or without uid; send the question, not the answer',
            id='no uid',
        ),
        pytest.param(
            review(pod(), kind=POD_KIND),
            'request.kind: Pod.v1.core is not answered at this path, only JobSet.v1alpha2.jobset.x-k8s.io is',
            id='another kind',
        ),
        pytest.param(review(None), 'request.object: missing for CREATE', id='creation without object'),
        pytest.param(
            review(jobset(), operation='UPDATE'),
            'request.oldObject: missing for UPDATE',
            id='change without old object',
        ),
    ],
)
async def test_bad_reviews(body: bytes, text: str) -> None:
    with pytest.raises(reviews.BadReviewError) as raised:
        await answer(keys.VALIDATE_JOBSET_PATH, body)
    assert str(raised.value) == text
