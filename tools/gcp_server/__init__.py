"""A Compute Engine for tests: instances, their disks and operations over HTTP on loopback, with faults on request.

with GcpServer() as gcp:
    gcp.world.operation_seconds = 8.0
    gcp.faults.add(Fault("instances.insert", 503, "backendError", after=True))
    gcp.world.preempt("worker-1")
"""

from tools.gcp_server.faults import Fault, Faults
from tools.gcp_server.server import GcpServer
from tools.gcp_server.world import GcpWorld

__all__ = ["Fault", "Faults", "GcpServer", "GcpWorld"]
