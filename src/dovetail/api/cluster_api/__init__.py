"""Cluster API's objects on the wire → core values (`reading`, `infra_reading`), and what changed of them → patches
(`writing`). Both v1beta1 and v1beta2 are read; what is written is v1beta2."""
