"""etcd, API server, controller manager and scheduler."""

from pathlib import Path

from e2e.cluster import certificates, network, settings
from e2e.cluster.processes import Program, wait_until
from e2e.cluster.site import LOOPBACK, Site

COLLECTORS = (
    'garbage-collector-controller',
    'namespace-controller',
    'serviceaccount-controller',
    'root-ca-certificate-publisher-controller',
)
"""Controllers of a cluster without Job controller: owners' deletions reach their children, namespaces end."""

READY_SECONDS = 120.0

ADMIN = 'admin'
CONTROLLER_MANAGER = 'kube-controller-manager'
SCHEDULER = 'kube-scheduler'


def issue(site: Site) -> certificates.Authority:
    """Make the authority, the certificates of the control plane, and the kubeconfigs of its parts."""
    authority = certificates.Authority.create(site.names.certificates)
    names = ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc']
    addresses = dict.fromkeys([site.address, LOOPBACK, network.API])
    authority.issue('apiserver', user='kube-apiserver', hosts=[*names, *addresses])
    authority.issue('apiserver-kubelet-client', user='kube-apiserver-kubelet-client', groups=['system:masters'])
    certificates.signing_key(site.names.certificates)
    login(site, authority, site.names.kubeconfig, user=ADMIN, groups=('system:masters',))
    for part in (CONTROLLER_MANAGER, SCHEDULER):
        login(site, authority, credentials(site, part), user=f'system:{part}')
    return authority


def login(
    site: Site, authority: certificates.Authority, path: Path, *, user: str, groups: tuple[str, ...] = ()
) -> None:
    """Write a kubeconfig to ``path`` for a new certificate of ``user``."""
    client = authority.issue(f'client-{user.replace(":", "-")}', user=user, groups=groups)
    certificates.kubeconfig(path, server=site.server, authority=authority.files, client=client)


def credentials(site: Site, part: str) -> Path:
    return site.names.configuration / f'{part}.kubeconfig'


def etcd(site: Site) -> list[str]:
    client = f'http://{LOOPBACK}:{site.ports.etcd}'
    peer = f'http://{LOOPBACK}:{site.ports.etcd_peer}'
    return [
        str(site.binaries['etcd']),
        f'--data-dir={site.names.state / "etcd"}',
        f'--listen-client-urls={client}',
        f'--advertise-client-urls={client}',
        f'--listen-peer-urls={peer}',
        f'--initial-advertise-peer-urls={peer}',
        f'--initial-cluster=default={peer}',
        # The data lives as long as the cluster: a power cut may take it, and a disk must not slow the tests.
        '--unsafe-no-fsync',
        f'--quota-backend-bytes={8 << 30}',
        '--log-level=warn',
    ]


def api_server(site: Site) -> list[str]:
    tls = site.names.certificates
    return [
        str(site.binaries['kube-apiserver']),
        f'--bind-address={site.address}',
        f'--advertise-address={site.address}',
        f'--secure-port={site.ports.api}',
        f'--etcd-servers=http://{LOOPBACK}:{site.ports.etcd}',
        f'--service-cluster-ip-range={network.SERVICES}',
        '--authorization-mode=Node,RBAC',
        '--allow-privileged=true',
        f'--client-ca-file={tls / "ca.crt"}',
        f'--tls-cert-file={tls / "apiserver.crt"}',
        f'--tls-private-key-file={tls / "apiserver.key"}',
        f'--kubelet-certificate-authority={tls / "ca.crt"}',
        f'--kubelet-client-certificate={tls / "apiserver-kubelet-client.crt"}',
        f'--kubelet-client-key={tls / "apiserver-kubelet-client.key"}',
        '--kubelet-preferred-address-types=InternalIP',
        '--service-account-issuer=https://kubernetes.default.svc',
        f'--service-account-key-file={tls / "service-accounts.pub"}',
        f'--service-account-signing-key-file={tls / "service-accounts.key"}',
        f'--runtime-config={settings.flag(site.settings.apis)}',
        f'--feature-gates={settings.flag(site.settings.gates)}',
        # On loopback there is no address that the Service "kubernetes" could lead to.
        *([] if site.full else ['--endpoint-reconciler-type=none']),
    ]


def controller_manager(site: Site) -> list[str]:
    tls = site.names.certificates
    login_file = credentials(site, CONTROLLER_MANAGER)
    pods = ['--enable-hostpath-provisioner=true', f'--bind-address={LOOPBACK}']
    flags = [
        f'--kubeconfig={login_file}',
        f'--authentication-kubeconfig={login_file}',
        f'--authorization-kubeconfig={login_file}',
        '--use-service-account-credentials=true',
        f'--service-account-private-key-file={tls / "service-accounts.key"}',
        f'--root-ca-file={tls / "ca.crt"}',
        f'--cluster-signing-cert-file={tls / "ca.crt"}',
        f'--cluster-signing-key-file={tls / "ca.key"}',
        '--leader-elect=false',
        # The usual 20 requests a second would be what a test of many Jobs measures.
        '--kube-api-qps=500',
        '--kube-api-burst=1000',
        f'--feature-gates={settings.flag(site.settings.gates)}',
        *(pods if site.full else [f'--controllers={",".join(COLLECTORS)}', '--secure-port=0']),
    ]
    return [str(site.binaries[CONTROLLER_MANAGER]), *settings.overridden(flags, site.settings.controller_manager)]


def scheduler(site: Site) -> list[str]:
    login_file = credentials(site, SCHEDULER)
    return [
        str(site.binaries[SCHEDULER]),
        f'--kubeconfig={login_file}',
        f'--authentication-kubeconfig={login_file}',
        f'--authorization-kubeconfig={login_file}',
        f'--bind-address={LOOPBACK}',
        '--leader-elect=false',
        '--kube-api-qps=500',
        '--kube-api-burst=1000',
        f'--feature-gates={settings.flag(site.settings.gates)}',
    ]


def start(site: Site) -> list[Program]:
    """Start the control plane and wait until it serves; returns its programs."""
    programs = [site.start('etcd', etcd(site)), site.start('kube-apiserver', api_server(site))]
    wait_until(
        lambda: ready(site), seconds=READY_SECONDS, what='the API server to be ready', every=0.1, programs=programs
    )
    programs.append(site.start(CONTROLLER_MANAGER, controller_manager(site)))
    if site.full:
        programs.append(site.start(SCHEDULER, scheduler(site)))
    # Until it exists, every pod is refused.
    wait_until(
        lambda: site.answers('get', 'serviceaccount', 'default', '--namespace=default'),
        seconds=READY_SECONDS,
        what='the controller manager to make the default service account',
        every=0.1,
        programs=programs,
    )
    return programs


def ready(site: Site) -> bool:
    return site.answers('get', '--raw=/readyz')
