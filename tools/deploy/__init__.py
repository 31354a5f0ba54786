"""Writes `deploy/`: custom resource definitions, plain manifests and a chart, all from the same objects."""
