"""An embedded Kubernetes API server: enough for the demo and for fast tests, with no cluster."""
