"""What Kubernetes objects say about disruption, from a live cluster or from files, as values of `core.disruption`."""
