"""The Kubernetes API, as a client: everything dovetail sees of a cluster and does to it goes through here."""
