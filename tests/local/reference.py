"""A real API server to learn from, for the commands that record what it answers."""

import base64
import http.client
import json
import pathlib
import ssl
import tempfile
import urllib.parse
from typing import Any

Json = dict[str, Any]


class Reference:
    """Plain requests with the client certificate of a kubeconfig file."""

    def __init__(self, kubeconfig: pathlib.Path) -> None:
        config = json.loads(kubeconfig.read_text())
        cluster, user = config['clusters'][0]['cluster'], config['users'][0]['user']
        authority = base64.b64decode(cluster['certificate-authority-data']).decode()
        context = ssl.create_default_context(cadata=authority)
        with tempfile.NamedTemporaryFile() as file:
            for key in ('client-certificate-data', 'client-key-data'):
                file.write(base64.b64decode(user[key]) + b'\n')
            file.flush()
            context.load_cert_chain(file.name)
        address = urllib.parse.urlsplit(cluster['server'])
        self._connection = http.client.HTTPSConnection(address.hostname or '', address.port, context=context)

    def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        kind: str = 'application/json',
        accept: str = 'application/json',
    ) -> tuple[int, Any]:
        """The code and the body of the answer."""
        headers = {'Accept': accept, 'User-Agent': 'recorder/1', 'Content-Type': kind}
        data = body if isinstance(body, str | None) else json.dumps(body)
        self._connection.request(method, path, data, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text.decode()
