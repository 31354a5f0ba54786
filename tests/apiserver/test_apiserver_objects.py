"""The verbs and their rules, without HTTP."""

from __future__ import annotations

import re

import pytest
from tests.apiserver.clusters import WIDGETS, cluster, config_map, definition, deployment, pod, refused

from dovetail.api.kinds import (
    CONFIG_MAPS,
    CORE_EVENTS,
    CRDS,
    DEPLOYMENTS,
    EVENTS,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    SECRETS,
    SERVICES,
)
from dovetail.apiserver.writes import FieldValidation, MergePatch, Write


def test_a_new_object_is_given_what_the_server_alone_decides() -> None:
    made = cluster().create(CONFIG_MAPS, {"metadata": {"name": "a", "uid": "mine", "generation": 7}}, "default")
    assert made["metadata"]["uid"] not in ("", "mine")
    assert made["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert "generation" not in made["metadata"]


def test_a_generated_name_begins_as_asked() -> None:
    made = cluster().create(CONFIG_MAPS, {"metadata": {"generateName": "job-"}}, "default")
    assert re.fullmatch(r"job-[a-z0-9]{5}", made["metadata"]["name"])


def test_the_object_handed_in_stays_as_it_was() -> None:
    wanted = pod()
    before = repr(wanted)
    cluster().create(PODS, wanted, "default")
    assert repr(wanted) == before


def test_only_a_change_of_the_spec_counts_as_a_generation() -> None:
    objects = cluster()
    objects.create(DEPLOYMENTS, deployment(), "default")
    labelled = objects.patch(DEPLOYMENTS, "web", MergePatch({"metadata": {"labels": {"a": "b"}}}), "default")
    assert labelled["metadata"]["generation"] == 1
    scaled = objects.patch(DEPLOYMENTS, "web", MergePatch({"spec": {"replicas": 3}}), "default")
    assert scaled["metadata"]["generation"] == 2
    told = MergePatch({"status": {"replicas": 3}, "spec": {"replicas": 9}})
    reported = objects.patch(DEPLOYMENTS, "web", told, "default", subresource="status")
    assert (reported["metadata"]["generation"], reported["spec"]["replicas"]) == (2, 3)


def test_a_write_that_changes_nothing_is_no_write() -> None:
    objects = cluster()
    made = objects.create(CONFIG_MAPS, config_map(a="1"), "default")
    again = objects.update(CONFIG_MAPS, made)
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_a_replacement_of_something_older_is_a_conflict() -> None:
    objects = cluster()
    made = objects.create(CONFIG_MAPS, config_map(a="1"), "default")
    objects.update(CONFIG_MAPS, {**made, "data": {"a": "2"}})
    refused(lambda: objects.update(CONFIG_MAPS, {**made, "data": {"a": "3"}}), 409, text="the object has been modified")


def test_a_custom_object_is_not_replaced_blindly() -> None:
    objects = cluster()
    objects.create(CRDS, definition())
    made = objects.create(WIDGETS, {"metadata": {"name": "a"}, "spec": {}}, "default")
    del made["metadata"]["resourceVersion"]
    refused(lambda: objects.update(WIDGETS, made), 422, text="must be specified for an update")


def test_a_dry_run_leaves_nothing_behind() -> None:
    objects = cluster()
    before = objects.storage.revision
    objects.create(CONFIG_MAPS, config_map(), "default", Write(dry_run=True))
    assert objects.find(CONFIG_MAPS, "one", "default") is None
    assert objects.storage.revision == before


def test_nothing_is_made_in_a_namespace_that_is_missing_or_going() -> None:
    objects = cluster()
    refused(lambda: objects.create(CONFIG_MAPS, config_map(), "nowhere"), 404, text='namespaces "nowhere" not found')
    objects.create(NAMESPACES, {"metadata": {"name": "old"}})
    objects.delete(NAMESPACES, "old")
    problem = refused(lambda: objects.create(CONFIG_MAPS, config_map(), "old"), 403, text="is being terminated")
    assert problem.details["causes"][0]["reason"] == "NamespaceTerminating"


def test_a_pod_gets_the_defaults_people_rely_on() -> None:
    objects = cluster()
    objects.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 1000})
    limits = {"limits": {"cpu": "1000m", "memory": "1024Mi"}}
    wanted = pod(containers=[{"name": "a", "image": "x", "resources": limits}], priorityClassName="high")
    made = objects.create(PODS, wanted, "default")
    assert made["status"] == {"phase": "Pending", "qosClass": "Guaranteed"}
    spec = made["spec"]
    assert (spec["priority"], spec["restartPolicy"], spec["schedulerName"]) == (1000, "Always", "default-scheduler")
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert [(one["key"], one["tolerationSeconds"]) for one in spec["tolerations"]] == [
        ("node.kubernetes.io/not-ready", 300),
        ("node.kubernetes.io/unreachable", 300),
    ]


def test_a_pod_of_an_unknown_priority_is_refused() -> None:
    objects = cluster()
    wanted = pod(priorityClassName="none")
    refused(lambda: objects.create(PODS, wanted, "default"), 403, text="no PriorityClass with name none was found")


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": []}, "spec.containers"),
        ({"containers": [{"name": "Not_A_Name", "image": "x"}]}, "spec.containers[0].name"),
        ({"containers": [{"name": "a"}]}, "spec.containers[0].image"),
        ({"containers": [{"name": "a", "image": "x"}] * 2}, "spec.containers[1].name"),
        ({"restartPolicy": "Sometimes"}, "spec.restartPolicy"),
        ({"nodeSelector": {"a b": "c"}}, "spec.nodeSelector"),
        ({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}, "spec.tolerations[0].operator"),
        (
            {
                "containers": [
                    {"name": "a", "image": "x", "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}}
                ]
            },
            "spec.containers[0].resources.requests",
        ),
        (
            {"containers": [{"name": "a", "image": "x", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]},
            "spec.containers[0].volumeMounts[0].name",
        ),
    ],
)
def test_a_broken_pod_is_refused_by_the_field_that_is_broken(spec: dict[str, object], field: str) -> None:
    problem = refused(lambda: cluster().create(PODS, pod(**spec), "default"), 422)
    assert field in [cause["field"] for cause in problem.details["causes"]]


def test_a_pod_cannot_change_where_it_asks_to_go() -> None:
    objects = cluster()
    objects.create(PODS, pod(), "default")
    refused(
        lambda: objects.patch(PODS, "one", MergePatch({"spec": {"nodeSelector": {"a": "b"}}}), "default"),
        422,
        text="pod updates may not change fields other than",
    )


def test_a_deployment_must_select_its_own_pods_and_keep_doing_so() -> None:
    objects = cluster()
    stray = deployment()
    stray["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    refused(lambda: objects.create(DEPLOYMENTS, stray, "default"), 422, text="`selector` does not match template")
    objects.create(DEPLOYMENTS, deployment(), "default")
    other = {"matchLabels": {"app": "web", "tier": "a"}}
    change = MergePatch({"spec": {"selector": other, "template": {"metadata": {"labels": {"tier": "a"}}}}})
    refused(lambda: objects.patch(DEPLOYMENTS, "web", change, "default"), 422, text="field is immutable")


def test_a_job_selects_its_pods_by_its_own_identity() -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "x"}]}}
    made = cluster().create(JOBS, {"metadata": {"name": "j"}, "spec": {"template": template}}, "default")
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert made["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_services_get_addresses_of_their_own() -> None:
    objects = cluster()
    wanted = {"spec": {"ports": [{"port": 80}]}}
    addresses = {
        objects.create(SERVICES, {"metadata": {"name": name}, **wanted}, "default")["spec"]["clusterIP"]
        for name in ("a", "b")
    }
    assert len(addresses) == 2


def test_a_secret_written_in_plain_text_is_kept_encoded() -> None:
    made = cluster().create(SECRETS, {"metadata": {"name": "s"}, "stringData": {"a": "b"}}, "default")
    assert (made["data"], "stringData" in made, made["type"]) == ({"a": "Yg=="}, False, "Opaque")


@pytest.mark.parametrize("text", ["not base64!", "\x80"])
def test_a_secret_whose_data_is_no_base64_is_refused(text: str) -> None:
    objects = cluster()
    secret = {"metadata": {"name": "s"}, "data": {"a": text}}
    refused(lambda: objects.create(SECRETS, secret, "default"), 400, text="illegal base64 data in 'a'")


def test_an_event_written_in_one_version_is_read_in_the_other() -> None:
    objects = cluster()
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    wanted = {"metadata": {"name": "e"}, "regarding": about, "note": "hello", "reason": "R", "reportingController": "c"}
    objects.create(EVENTS, wanted, "default")
    old = objects.get(CORE_EVENTS, "e", "default")
    assert (old["apiVersion"], old["message"], old["involvedObject"]) == ("v1", "hello", about)
    assert objects.list(EVENTS, fields="regarding.name=p")[0]["note"] == "hello"
    assert objects.list(CORE_EVENTS, fields="involvedObject.name=other") == []


def test_fields_nobody_defined_are_dropped_or_refused_as_asked() -> None:
    objects = cluster()
    wanted = {"metadata": {"name": "a"}, "data": {"a": "1"}, "dada": {}}
    heard: list[str] = []
    made = objects.create(CONFIG_MAPS, wanted, "default", Write(validation=FieldValidation.WARN, warn=heard.append))
    assert "dada" not in made
    assert heard == ['unknown field "dada"']
    strict = Write(validation=FieldValidation.STRICT)
    wanted["metadata"] = {"name": "b"}
    refused(lambda: objects.create(CONFIG_MAPS, wanted, "default", strict), 400, text='unknown field "dada"')


def test_a_value_of_the_wrong_type_is_refused_by_name() -> None:
    wanted = deployment()
    wanted["spec"]["replicas"] = "3"
    text = "cannot unmarshal string into Go struct field .spec.replicas of type int32"
    refused(lambda: cluster().create(DEPLOYMENTS, wanted, "default"), 400, text=text)


def test_empty_values_and_spellings_come_out_as_the_real_server_writes_them() -> None:
    wanted = {
        "metadata": {"name": "n", "labels": {}},
        "spec": {"unschedulable": False},
        "status": {"capacity": {"cpu": "4000m", "memory": "0.5Gi"}},
    }
    made = cluster().create(NODES, wanted)
    assert "labels" not in made["metadata"]
    assert "unschedulable" not in made["spec"]
    assert made["status"]["allocatable"] == {"cpu": "4", "memory": "512Mi"}
    assert made["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


def test_admission_may_change_an_object_or_refuse_it() -> None:
    objects = cluster()

    def stamp(kind: object, new: dict[str, dict[str, object]], old: object) -> None:
        new["metadata"]["labels"] = {"seen": "yes"}

    objects.admission.append(stamp)
    assert objects.create(CONFIG_MAPS, config_map(), "default")["metadata"]["labels"] == {"seen": "yes"}
