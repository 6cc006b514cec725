"""What is kept of a JobSet that was read and is written again."""

import msgspec

from jobset.api import types
from tests.api import build
from tests.api.build import claim, obj, replicated


def test_unknown_fields_of_templates_survive() -> None:
    job = replicated(
        'a',
        replicas=0,
        job={'fieldOfALaterVersion': {'deep': [1, None, {'x': 0.5}]}, 'suspend': None},
        pod={'containers': [{'name': 'c', 'image': 'i', 'anotherField': ''}], 'newList': []},
    )
    sent = obj(
        [{**job, 'replicas': 0}],
        volumeClaimPolicies=[{'templates': [claim('d', newerField='x')], 'retentionPolicy': {'whenDeleted': 'Retain'}}],
    )

    read = build.typed(sent)
    (written_job,) = msgspec.json.decode(msgspec.json.encode(read))['spec']['replicatedJobs']
    (policy,) = msgspec.json.decode(msgspec.json.encode(read))['spec']['volumeClaimPolicies']

    assert written_job['template'] == job['template']
    assert written_job['replicas'] == 0
    assert policy == sent['spec']['volumeClaimPolicies'][0]


def test_values_of_a_later_version_can_be_read() -> None:
    job = replicated('a', dependsOn=[{'name': 'b', 'status': 'HalfReady'}])
    sent = obj(
        [job],
        successPolicy={'operator': 'Most'},
        failurePolicy={'restartStrategy': 'Teleport', 'rules': [{'name': 'r', 'action': 'Shrug'}]},
        startupPolicy={'startupPolicyOrder': 'Backwards'},
    )

    spec = build.typed(sent).spec

    assert spec.success_policy == types.SuccessPolicy(operator='Most')
    assert spec.failure_policy is not None
    assert spec.failure_policy.restart_strategy == 'Teleport'
    assert spec.failure_policy.rules[0].action == 'Shrug'
    assert spec.startup_policy == types.StartupPolicy(startup_policy_order='Backwards')
    assert spec.replicated_jobs[0].depends_on == (types.DependsOn(name='b', status='HalfReady'),)
