"""Bad days on real worker processes and encrypted connections: the line that is said, or the same result."""

import hashlib
import os
import signal

import pytest
from support.bounded import local_cluster
from support.striped import striped_frames

from depthforest.cluster.connecting import connect
from depthforest.cluster.crew import ClusterError, Crew
from depthforest.cluster.spreading import spread, using
from depthforest.io.datasets import open_dataset, write_dataset
from depthforest.training.config import TrainConfig
from depthforest.training.run import train

distributed = pytest.importorskip("distributed", reason="needs the extra dask")

CONFIG = TrainConfig(trees=1, depth=8, candidates=24, thresholds=9, pixels_per_frame=150, frames_per_tree=0.7, seed=3)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("striped") / "data"
    write_dataset(path, striped_frames(12, seed=1))
    return open_dataset(path)


def digest(forest, tmp_path):
    forest.save(tmp_path / "model.safetensors")
    return hashlib.sha256((tmp_path / "model.safetensors").read_bytes()).hexdigest()


@pytest.fixture
def secured():
    pytest.importorskip("cryptography", reason="makes the certificates of this test")
    security = distributed.Security.temporary()
    with local_cluster(n_workers=2, protocol="tls://", security=security) as (cluster, client):
        yield cluster, client, security


def test_tls_with_a_client_of_ones_own(secured, data, tmp_path):
    _, client, _ = secured
    assert client.scheduler.address.startswith("tls://")
    assert digest(train(data, CONFIG, client=client), tmp_path) == digest(train(data, CONFIG), tmp_path)


def test_tls_by_address_with_the_certificates_of_dasks_configuration(secured, tmp_path):
    import dask

    cluster, _, security = secured
    tmp_path.joinpath("cert.pem").write_text(security.tls_client_cert)
    tmp_path.joinpath("key.pem").write_text(security.tls_client_key)
    tmp_path.joinpath("ca.pem").write_text(security.tls_ca_file)
    tls = {
        "distributed.comm.tls.ca-file": str(tmp_path / "ca.pem"),
        "distributed.comm.tls.client.cert": str(tmp_path / "cert.pem"),
        "distributed.comm.tls.client.key": str(tmp_path / "key.pem"),
    }
    with dask.config.set(tls), connect(cluster.scheduler_address) as client, using(client):
        assert list(spread(lambda n: n * n, range(5))) == [0, 1, 4, 9, 16]
    address = cluster.scheduler_address
    with pytest.raises(ClusterError, match=r"tls://.* needs certificates .* in Dask's configuration"), connect(address):
        pass


# -- processes ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_worker_that_has_another_version_is_told_when_it_is_there_and_when_it_joins(data):
    """The worker is a real process; what it says of its numba is changed."""

    def change():
        from depthforest.cluster import versions

        there = versions.own_versions() | {"numba": "0.1"}
        versions.own_versions = lambda: there
        from depthforest.cluster import crew

        crew.own_versions = versions.own_versions

    with local_cluster(n_workers=1, processes=True) as (_, client):
        crew = Crew(client)
        crew.wait_for_workers()
        client.run(change)  # from here on it is one that joined after the check
        with pytest.raises(ClusterError, match=r"a worker has numba 0.1 instead of .*; results would differ: install"):
            crew.result(crew.submit(abs, -3))
        with pytest.raises(ClusterError, match=r"worker tcp://.* has numba 0.1 instead of .*; results would differ"):
            train(data, CONFIG, client=client)


@pytest.mark.slow
def test_workers_that_die_at_a_task_are_told():
    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    with local_cluster(n_workers=1, processes=True) as (_, client):
        crew = Crew(client)
        with pytest.raises(
            ClusterError, match="workers died several times at the same task, mostly for lack of memory"
        ):
            crew.result(crew.submit(die))
