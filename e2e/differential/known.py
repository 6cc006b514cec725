"""The differences that stay, each with its reason. One that is not listed fails the run."""

import re
from dataclasses import dataclass
from typing import Final

from e2e.differential.comparing import Difference


@dataclass(frozen=True, kw_only=True)
class Known:
    """Differences that match all of its patterns."""

    why: str
    what: str = ''
    """Kind, verb and subresource of the write, and the place of the answer, as ``jobs.batch create: warnings``."""

    real: str = ''
    """What the real server says there."""

    ours: str = ''
    sent: str = ''
    """The body of the write."""

    blurred: str = ''
    """Without what matches this, both say the same."""

    def matches(self, what: str, difference: Difference, sent: str) -> bool:
        """Whether a difference is one of these."""
        real, ours = difference.real, difference.ours
        patterns = ((self.what, what), (self.real, real), (self.ours, ours), (self.sent, sent))
        if not all(re.search(pattern, text, re.DOTALL) for pattern, text in patterns):
            return False
        return not self.blurred or re.sub(self.blurred, '', real) == re.sub(self.blurred, '', ours)


KNOWN: Final = (
    Known(
        why='kube-apiserver panics and breaks the connection; ours refuses',
        what=': code$',
        real='^0$',
        ours='^4',
    ),
    Known(
        why='the text of kube-apiserver names a file of its Go sources',
        real=r'pkg/runtime/scheme\.go',
        blurred=r' in scheme \\*"pkg/runtime/scheme.go:\d+\\*"| here',
    ),
    Known(
        why='within the Go struct that is shown, what was given empty is not null, and what was not has its default',
        real=r'\\"(Spec|Volumes|Containers)\\":',
        blurred=r'null|\[\]|\{\}|420',
    ),
    Known(
        why='the same, where the text is a difference of two structs',
        real=r'pod updates may not change fields other than',
        ours=r'pod updates may not change fields other than',
        blurred=r'\\n@@.*',
    ),
    Known(
        why='the same of the labels that a selector does not match',
        real='`selector` does not match template `labels`',
        blurred=r'null|\{\}',
    ),
    Known(
        why='an empty list of rules is kept, as it was given',
        what=r'podFailurePolicy\.rules$',
        real='null',
        ours=r'\[\]',
    ),
    Known(
        why='the labels that a Job gets itself are judged, too',
        what='^jobs.batch (create|apply): causes',
        ours=r'"must be no more than 63 bytes", "field": "metadata.labels"|63 bytes", "field": "metadata.labels"',
    ),
    Known(
        why='kube-apiserver mounts a token into pods; the plane has none to give',
        what=r'(spec\.volumes|volumeMounts|f:volume|f:volumeMounts|automount)',
        real='kube-api-access-',
    ),
    Known(
        why='kube-apiserver takes an object that says it is of another kind, or answers with an error of its insides; '
        'ours refuses',
        what=r'^jobsets',
        sent=r'"kind": "Other"|"apiVersion": "batch/v2"|"apiVersion": null|/apiVersion|/kind',
    ),
    Known(
        why='the text of kube-apiserver shows how it stores objects',
        real='StorageError: invalid object',
        blurred=r'StorageError: invalid object,.*AdditionalErrorMsg: ',
    ),
    Known(
        why='kube-apiserver gives up tracking fields where a managed field, or the object, is not of the types of the '
        'version',
        what='metadata.managedFields',
        sent=r'"manager": "x"|"spec": (\[\]|"text")|replicatedJobs", "value": "x"|"replicatedJobs": "x"',
    ),
    Known(
        why='a field of a feature that is off is dropped before its owner is noted',
        what='f:lifecycle',
        sent='stopSignal',
    ),
    Known(
        why='the text shows the body of the request, which is ordered as the server gave it',
        real="Object 'Kind' is missing in",
        blurred=r"'\{.*",
    ),
    Known(
        why='kube-apiserver takes all fields of an object without a version for unknown ones',
        what='warnings$',
        real=r'unknown field \\+"metadata',
        sent='apiVersion',
    ),
    Known(
        why='a null label is stored as it was applied',
        what=r'metadata\.labels\.\w+$',
        real='^""$',
        ours='^null$',
    ),
    Known(
        why='a patch of the wrong type is refused in other words where it is of a status',
        real='of type jsonpatch.Patch',
        ours='of type .*jsonPatchOp',
    ),
    Known(
        why='of an object that is refused for its version, double fields are not looked for',
        what='jobsets.* create: warnings',
        real='duplicate field',
        ours=r'^\[\]$',
    ),
    Known(
        why='null applied to what the manager had to itself takes it away; in kube-apiserver null stays, or what is '
        'left has no owner',
        what='jobsets.* apply: (causes|.*managedFields)',
        sent=': null',
    ),
    Known(
        why='links of objects to themselves are long gone, and not kept',
        what='selfLink',
        ours='nothing',
    ),
    Known(
        why='the words of another JSON parser',
        real='json parse error',
        ours='json parse error',
    ),
    Known(
        why='kube-apiserver tells conflicts before what it cannot convert',
        what='apply: code$',
        real='^409 Apply failed',
        ours='^500 failed to convert',
    ),
    Known(
        why='what has the wrong type in a strategic patch is told in words that depend on how Go converts it',
        what=r'strategic patch(?: status)?: causes$',
        real=r'<patch>: (cannot (convert|restore)|unrecognized type)',
        ours='<patch>: ',
    ),
    Known(
        why='of several unknown fields, which ones are told is chance in Go',
        real='failed to create typed patch object',
        ours='failed to create typed patch object',
    ),
    Known(
        why='kube-apiserver takes $retainKeys for a key where there is nothing yet',
        what=r'strategic patch(?: status)?: code$',
        real='unrecognized type',
        sent=r'\$retainKeys',
    ),
    Known(
        why='kube-apiserver tells twice that ephemeral containers of a new pod, which may have none, share a name',
        what=r'(create|apply): causes$',
        real=r'^\{"reason": "FieldValueDuplicate", [^}]*spec.ephemeralContainers\[1\].name"\}$',
        ours='^$',
    ),
    Known(
        why='a null runtime class name makes kube-apiserver fail inside; ours refuses it',
        what=': code$',
        real='500 resource name may not be empty',
        ours='^422',
    ),
)


def reason(what: str, difference: Difference, sent: str) -> str | None:
    """Why a difference stays; None when nobody knows."""
    return next((one.why for one in KNOWN if one.matches(what, difference, sent)), None)
