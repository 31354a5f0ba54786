"""An Azure for tests: virtual machines, interfaces, addresses and disks over ARM's own protocol, faults on request.

    python -m tools.azure_server          says on which port it listens

Nothing here is simulated by a thread: what takes time is looked at when somebody asks, and done if its time has come.
So operations go on while whoever began them is dead, and virtual time works as well as the real one.
"""

from tools.azure_server.faults import Fault
from tools.azure_server.server import AzureServer
from tools.azure_server.world import Waits, World

__all__ = ["AzureServer", "Fault", "Waits", "World"]
