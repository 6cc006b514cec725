"""A real cluster as the place of scenarios."""

from dataclasses import dataclass

from e2e import deployment
from e2e.kubectl import Kubectl
from tests.scenarios.api import Api


@dataclass(frozen=True)
class RealCluster:
    """See :class:`tests.scenarios.space.Place`."""

    server: Api
    kubectl: Kubectl

    def execute(self, namespace: str, pod: str, *command: str) -> None:
        self.kubectl('-n', namespace, 'exec', pod, '--', *command)

    def diagnosis(self, namespace: str) -> str:
        return deployment.diagnosis(self.kubectl, namespace)
