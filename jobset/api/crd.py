"""The CustomResourceDefinition of JobSets. ``python -m jobset.api.crd FILE`` writes it."""

import argparse
import pathlib
from typing import Final

import yaml

from jobset.api import keys, schema

FILE: Final = f'{keys.GROUP}_{keys.PLURAL}.yaml'
"""The name of the file under ``crds/``."""

_HEADER: Final = '# Made by `python -m jobset.api.crd` from jobset/api: change that, not this.\n'

COLUMNS: Final = (
    {'name': 'TerminalState', 'type': 'string', 'jsonPath': '.status.terminalState'},
    {'name': 'Restarts', 'type': 'string', 'jsonPath': '.status.restarts'},
    {'name': 'Completed', 'type': 'string', 'jsonPath': '.status.conditions[?(@.type=="Completed")].status'},
    {'name': 'Suspended', 'type': 'string', 'jsonPath': '.spec.suspend'},
    {'name': 'Age', 'type': 'date', 'jsonPath': '.metadata.creationTimestamp'},
)
"""What ``kubectl get`` shows, in order."""


def definition() -> dict[str, object]:
    """The object to install."""
    version = {
        'name': keys.VERSION,
        'served': True,
        'storage': True,
        'subresources': {'status': {}},
        'additionalPrinterColumns': list(COLUMNS),
        'schema': {'openAPIV3Schema': schema.jobset()},
    }
    return {
        'apiVersion': 'apiextensions.k8s.io/v1',
        'kind': 'CustomResourceDefinition',
        'metadata': {'name': keys.CRD_NAME},
        'spec': {
            'group': keys.GROUP,
            'names': {
                'kind': keys.KIND,
                'listKind': f'{keys.KIND}List',
                'plural': keys.PLURAL,
                'singular': keys.KIND.lower(),
            },
            'scope': 'Namespaced',
            'versions': [version],
        },
    }


def text() -> str:
    """The file that holds the object."""
    return _HEADER + yaml.dump(definition(), Dumper=_Plain, width=120, sort_keys=True)


class _Plain(yaml.SafeDumper):
    """Parts that occur twice are written twice: kubectl knows no anchors in manifests that tools rewrite."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def main() -> None:
    """Write the CustomResourceDefinition of JobSets to a file."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument('file', nargs='?', type=pathlib.Path, default=pathlib.Path('crds') / FILE)
    target: pathlib.Path = parser.parse_args().file
    target.write_text(text())


if __name__ == '__main__':
    main()
