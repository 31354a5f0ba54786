"""Which image a machine gets: by alias through parameters, by variant, the best of several."""

from __future__ import annotations

import pytest

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.images import NVIDIA, Image, any_machine, chosen, image_for, parameters
from dovetail.core import labels
from dovetail.core.errors import BadInput
from dovetail.core.requirements import Requirements, does_not_exist, is_in


def machine(arch: str = "amd64", gpus: str = "", neurons: str = "") -> Requirements:
    def count(key: str, value: str):
        return is_in(key, value) if value else does_not_exist(key)

    return Requirements(
        (
            is_in(labels.ARCH, arch),
            is_in(labels.OS, "linux"),
            count(aws_labels.GPU_COUNT, gpus),
            count(aws_labels.ACCELERATOR_COUNT, neurons),
        )
    )


def images(alias: str, kubernetes: str = "1.34") -> list[Image]:
    return [
        Image(f"ami-{number}", one.path, "2026-01-01", served)
        for number, one in enumerate(parameters(alias, kubernetes))
        for served in one.serves
    ]


@pytest.mark.parametrize(
    ("alias", "wanted", "path"),
    [
        ("al2023@latest", machine(), "/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id"),
        ("al2023@latest", machine("arm64"), "/1.34/amazon-linux-2023/arm64/standard/recommended/image_id"),
        ("al2023@latest", machine(gpus="1"), "/1.34/amazon-linux-2023/x86_64/nvidia/recommended/image_id"),
        ("al2023@latest", machine(neurons="2"), "/1.34/amazon-linux-2023/x86_64/neuron/recommended/image_id"),
        (
            "al2023@v20260801",
            machine(),
            "/x86_64/standard/amazon-eks-node-al2023-x86_64-standard-1.34-v20260801/image_id",
        ),
        ("bottlerocket@latest", machine(), "/aws/service/bottlerocket/aws-k8s-1.34/x86_64/latest/image_id"),
        ("bottlerocket@v1.20.0", machine(), "/aws/service/bottlerocket/aws-k8s-1.34/x86_64/1.20.0/image_id"),
        ("bottlerocket@latest", machine(neurons="1"), "/aws/service/bottlerocket/aws-k8s-1.34/x86_64/latest/image_id"),
        ("bottlerocket@latest", machine("arm64", gpus="1"), "/aws-k8s-1.34-nvidia/arm64/latest/image_id"),
    ],
)
def test_an_alias_gives_each_machine_its_image(alias, wanted, path):
    found = image_for(wanted, images(alias))
    assert found is not None
    assert found.name.endswith(path)


def test_the_image_with_drivers_serves_both_kinds_of_accelerators_on_al2():
    found = images("al2@latest", "1.32")
    gpu, neuron = image_for(machine(gpus="4"), found), image_for(machine(neurons="1"), found)
    assert gpu is not None
    assert neuron is not None
    assert gpu.name == neuron.name == "/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id"


def test_windows_has_one_image_for_its_build():
    (one,) = parameters("windows2022@latest", "1.34")
    assert one.path == "/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.34/image_id"
    (served,) = one.serves
    assert served.value("node.kubernetes.io/windows-build") == "10.0.20348"


@pytest.mark.parametrize(
    ("alias", "kubernetes", "said"),
    [
        ("al2@latest", "1.33", "before 1.33"),
        ("windows2025@latest", "1.34", "from 1.35 on"),
        ("ubuntu@latest", "1.34", "ubuntu@latest"),
        ("al2023", "1.34", "a version"),
    ],
)
def test_an_alias_that_cannot_be_had_says_why(alias, kubernetes, said):
    with pytest.raises(BadInput, match=said):
        parameters(alias, kubernetes)


def test_no_machine_of_another_architecture_gets_an_image():
    assert image_for(machine("arm64"), images("al2@latest", "1.32")[:1]) is None
    assert any_machine("i386") is None


def test_of_several_for_one_kind_of_machine_the_best_is_kept():
    plain = any_machine("x86_64")
    assert plain is not None
    gpu = Requirements((*plain, *NVIDIA))
    found = chosen(
        [
            Image("ami-old", "a", "2025-01-01", plain),
            Image("ami-new", "b", "2026-01-01", plain),
            Image("ami-newest", "c", "2026-06-01", plain, deprecated=True),
            Image("ami-gpu", "d", "2024-01-01", gpu),
        ]
    )
    assert [one.id for one in found] == ["ami-new", "ami-gpu"]
