"""dovetail: a Kubernetes node provisioner that knows what every cloud sells, and says why it buys."""

__version__ = "0.1.0"
