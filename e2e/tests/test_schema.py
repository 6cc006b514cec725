"""The schemas of Job templates and claims that our CRD embeds are those of the server that runs."""

from jobset.api import embedded
from tests.scenarios.api import Api


def test_the_embedded_schemas_are_those_of_the_live_server(server: Api) -> None:
    documents = [server.request('GET', f'/openapi/v3/{path}') for path in ('apis/batch/v1', 'api/v1')]

    assert embedded.convert(*documents) == embedded.load()
