"""The clouds' listings, and a pool to ask them with."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.listings import load_once

from dovetail.core.catalog.listing import Listing
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.nodepools import NodeClassRef, NodePool


@pytest.fixture(scope="session")
def aws() -> Listing:
    return load_once("aws")


@pytest.fixture(scope="session")
def azure() -> Listing:
    return load_once("azure")


@pytest.fixture(scope="session")
def gcp() -> Listing:
    return load_once("gcp")


@pytest.fixture(scope="session")
def kwok() -> Listing:
    return load_once("kwok")


@pytest.fixture(scope="session")
def pool() -> Callable[..., NodePool]:
    def make(name: str = "default", node_class: str = "default", kubelet: KubeletSettings | None = None) -> NodePool:
        return NodePool(name, NodeClassRef("test.sh", "Class", node_class), kubelet=kubelet or KubeletSettings())

    return make
