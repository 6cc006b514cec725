"""Names of clusters: equal ones never meet, and each fits where the machine puts it."""

import itertools
from pathlib import Path

import pytest

from e2e.cluster import names


def derived(one: names.Names) -> set[str]:
    """Everything on the machine that must belong to one cluster alone."""
    return {
        one.namespace,
        one.cgroup,
        one.cni_network,
        *map(str, (one.state, one.lock, one.logs, one.pids, one.kubeconfig, one.record, one.containerd_socket)),
    }


@pytest.mark.parametrize(
    ('first', 'second'),
    list(itertools.combinations(['a', 'b', 'a-b', 'main-f2af6c', 'main-f2af6c-cp', 'x' * names.LONGEST], 2)),
)
def test_two_clusters_share_no_name(first: str, second: str, tmp_path: Path) -> None:
    assert not derived(names.of(first, cache_folder=tmp_path)) & derived(names.of(second, cache_folder=tmp_path))


@pytest.mark.parametrize(
    'name',
    [
        pytest.param('', id='an empty name'),
        pytest.param('x' * (names.LONGEST + 1), id='one character too many'),
        pytest.param('Main', id='capitals'),
        pytest.param('a_b', id='an underscore'),
        pytest.param('-a', id='a leading dash'),
        pytest.param('a-', id='a trailing dash'),
        pytest.param('../a', id='a path'),
        pytest.param('a\n', id='a line end'),
    ],
)
def test_unusable_name_is_refused(name: str) -> None:
    with pytest.raises(names.ClusterNameError, match='is not usable'):
        names.of(name, cache_folder=Path('/c'))


def test_socket_path_that_the_kernel_would_cut_is_refused() -> None:
    room = names.LONGEST_SOCKET - len('/clusters/a/kubelet/pod-resources/kubelet.sock')
    fitting = names.of('a', cache_folder=Path('/' + 'x' * (room - 1)))
    too_long = names.of('a', cache_folder=Path('/' + 'x' * room))

    names.check_sockets(fitting)
    with pytest.raises(names.ClusterNameError, match='XDG_CACHE_HOME'):
        names.check_sockets(too_long)


@pytest.mark.parametrize(
    ('checkout', 'readable'),
    [
        pytest.param('/src/main', 'main', id='a plain folder'),
        pytest.param('/src/My Project', 'my-project', id='capitals and spaces'),
        pytest.param('/src/' + 'long' * 20, 'longlonglonglo', id='a long folder'),
        pytest.param('/', 'checkout', id='no folder'),
    ],
)
def test_default_name_is_readable_and_usable(checkout: str, readable: str) -> None:
    name = names.default(Path(checkout), suffix='-cp')

    assert name.startswith(f'{readable}-')
    assert name.endswith('-cp')
    assert names.of(name, cache_folder=Path('/c')).cluster == name


def test_checkouts_of_equal_folder_names_get_clusters_of_their_own() -> None:
    assert names.default(Path('/one/main')) != names.default(Path('/two/main'))
    assert names.default(Path('/one/main')) == names.default(Path('/one/../one/main'))


@pytest.mark.parametrize(
    ('base', 'cache'),
    [
        pytest.param('/xdg', Path('/xdg/jobset/cluster'), id='as the user says'),
        pytest.param('', Path('/home/u/.cache/jobset/cluster'), id='below home'),
    ],
)
def test_cache_lies_in_the_user_cache_folder(base: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('XDG_CACHE_HOME', base)
    monkeypatch.setenv('HOME', '/home/u')

    assert names.cache() == cache
