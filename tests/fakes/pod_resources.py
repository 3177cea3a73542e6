"""The kubelet's pod resources service on a real socket, with pods that a test gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc

from gpu_kubelet._pb import podresources_pb2 as pb
from gpu_kubelet._pb import podresources_pb2_grpc as rpc


class PodResources(rpc.PodResourcesListerServicer):
    """Lists what pods were given: (namespace, pod, container, resource, device ids)."""

    def __init__(self, given: Sequence[tuple[str, str, str, str, Sequence[str]]]) -> None:
        self._given = given

    def List(self, request: pb.ListPodResourcesRequest, context: grpc.ServicerContext) -> pb.ListPodResourcesResponse:
        return pb.ListPodResourcesResponse(
            pod_resources=[
                pb.PodResources(
                    namespace=namespace,
                    name=pod,
                    containers=[
                        pb.ContainerResources(
                            name=container,
                            devices=[pb.ContainerDevices(resource_name=resource, device_ids=ids)],
                        )
                    ],
                )
                for namespace, pod, container, resource, ids in self._given
            ]
        )

    def GetAllocatableResources(
        self, request: pb.AllocatableResourcesRequest, context: grpc.ServicerContext
    ) -> pb.AllocatableResourcesResponse:
        return pb.AllocatableResourcesResponse()


@contextmanager
def pod_resources(socket: Path, *given: tuple[str, str, str, str, Sequence[str]]) -> Iterator[None]:
    """Serve while the block runs."""
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    rpc.add_PodResourcesListerServicer_to_server(PodResources(given), server)
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    try:
        yield
    finally:
        server.stop(None).wait()
