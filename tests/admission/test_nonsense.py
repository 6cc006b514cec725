"""Whatever is sent, a review is answered: nothing in it ends the process or is an error of ours."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.admission import reviews
from jobset.api import keys
from tests.admission import asking

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)

FULL = asking.jobset(
    failurePolicy={
        'maxRestarts': 1,
        'restartStrategy': 'Recreate',
        'rules': [
            {
                'name': 'r',
                'action': 'FailJobSet',
                'onJobFailureReasons': ['BackoffLimitExceeded'],
                'onJobFailureMessagePatterns': ['a+'],
                'targetReplicatedJobs': ['workers'],
            }
        ],
    },
    coordinator={'replicatedJob': 'workers', 'jobIndex': 0, 'podIndex': 0},
    suspend=False,
    managedBy='a.io/b',
    ttlSecondsAfterFinished=1,
    volumeClaimPolicies=[{'templates': [{'metadata': {'name': 'd'}, 'spec': {'accessModes': ['ReadWriteOnce']}}]}],
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inner for place in places(one, (*path, key)))]


@st.composite
def damaged(draw: st.DrawFn, whole: Any) -> Any:
    """``whole`` with something else in one place, or with that place missing."""
    place = draw(st.sampled_from(places(whole)[1:]))
    result = copy.deepcopy(whole)
    parent = result
    for key in place[:-1]:
        parent = parent[key]
    if draw(st.booleans()):
        del parent[place[-1]]
    else:
        parent[place[-1]] = draw(JSON)
    return result


POD = asking.pod(annotations=asking.OURS, labels=asking.OURS)


@settings(max_examples=300, deadline=None)
@given(new=damaged(FULL), old=damaged(FULL), operation=st.sampled_from(['CREATE', 'UPDATE']))
async def test_damaged_jobsets(new: Any, old: Any, operation: str) -> None:
    body = asking.review(new, old, operation=operation)
    completed = await asking.answer(keys.MUTATE_JOBSET_PATH, body)
    assert completed['response']['allowed'] is True
    judged = (await asking.answer(keys.VALIDATE_JOBSET_PATH, body))['response']
    assert judged['allowed'] or (judged['status']['code'], judged['status']['reason']) == (422, 'Invalid')


@settings(max_examples=200, deadline=None)
@given(pod=damaged(POD))
async def test_damaged_pods(pod: Any) -> None:
    body = asking.review(pod, kind=asking.POD_KIND)
    for path in (keys.MUTATE_POD_PATH, keys.VALIDATE_POD_PATH):
        assert (await asking.answer(path, body))['response']['allowed'] is True


@settings(max_examples=300, deadline=None)
@given(review=damaged(json.loads(asking.review(FULL))))
async def test_damaged_reviews(review: Any) -> None:
    body = json.dumps(review).encode()
    for path in (keys.MUTATE_JOBSET_PATH, keys.VALIDATE_JOBSET_PATH):
        refusal = None
        try:
            answered = await asking.answer(path, body)
        except reviews.BadReviewError as error:
            refusal = str(error)
        if refusal is None:
            assert answered['response']['uid'] == review['request']['uid']
        else:
            assert refusal.startswith('request')


@settings(max_examples=200, deadline=None)
@given(body=st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
async def test_any_bytes(body: bytes) -> None:
    with pytest.raises(reviews.BadReviewError, match='request'):
        reviews.decode(body, reviews.JOBSET)
