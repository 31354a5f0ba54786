"""From Karpenter to dovetail and back, on one cluster, as `docs/howto/replace-karpenter.md` says it.

Karpenter's own kwok provider makes the nodes, the page's commands are typed one after the other, and pods come while
nobody acts. The story is told once; each test looks for one thing in what was seen of it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator

import pytest
from tests.control_plane_plugin import LIVE_GROUP, absent
from tests.live.live import is_true
from tests.live.migration import (
    DOVETAIL,
    KARPENTER,
    WATCHED,
    Object,
    Picture,
    Stage,
    asked,
    commands,
    every_command,
    name_of,
)
from tools.control_plane.find import find, find_peer
from tools.control_plane.programs import NoControlPlane
from tools.control_plane.start import ControlPlane

from dovetail.api import kinds

pytestmark = pytest.mark.xdist_group(LIVE_GROUP)

HASH = "karpenter.sh/nodepool-hash"
#: Stages at which a picture is taken, in order.
BEFORE, BESIDE, HELD, OVER, BACK, LAST = "before", "beside", "held", "over", "back", "last"
#: Deployments, and how many nodes each fills.
AT_FIRST = {"web": 3, "reports": 2, "leaving": 1}
ON_THE_WAY_OVER = {"checkout": 2, "passing": 1}
ON_THE_WAY_BACK = {"search": 2}
#: What every node was looked at for, once it was judged.
LOOKED_FOR = {"drifted", "empty", "underutilized"}
#: Gauges that Karpenter has a second time, without the kind in their name.
OLDER = {
    "operator_status_condition_count",
    "operator_status_condition_current_status_seconds",
    "operator_termination_current_time_seconds",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The whole story, on a control plane of its own: Karpenter's definitions and ours have the same names."""
    try:
        peer = find_peer(os.environ)
        plane = ControlPlane(find(os.environ), logs=tmp_path_factory.mktemp("plane")).start()
    except NoControlPlane as reason:
        absent(reason)
    stage = Stage(plane, peer, tmp_path_factory.mktemp("migration"))
    try:
        tell(stage)
        yield stage
        assert plane.fallen() == []
    finally:
        stage.stop()
        plane.stop()


def tell(stage: Stage) -> None:
    stage.furnish()
    stage.follow()
    served(stage, AT_FIRST)
    judged(stage, KARPENTER)
    stage.picture(BEFORE)

    look_first(stage)

    stage.typed("Side by side")
    stage.until(lambda: stage.followers[DOVETAIL].ready)
    stage.picture(BESIDE)

    stage.typed("Change over")
    stage.kubectl("apply -f scenarios/migration/meanwhile.yaml -l way=over")
    stage.until(lambda: stage.leads(DOVETAIL))
    served(stage, ON_THE_WAY_OVER)
    stage.picture(HELD)

    stage.typed("Let it move nodes")
    stage.typed("Take the definitions along")
    judged(stage, DOVETAIL)
    taken_down(stage, "leaving")
    stage.picture(OVER)

    down, up = commands("Back out")
    stage.type(down)
    stage.follow()
    stage.kubectl("apply -f scenarios/migration/meanwhile.yaml -l way=back")
    stage.until(lambda: len(stage.all(kinds.PODS, "?labelSelector=app%3Dsearch")) == 2)
    stage.type(up)
    stage.follow()
    served(stage, ON_THE_WAY_BACK)
    judged(stage, KARPENTER)
    stage.picture(BACK)

    stage.typed("Leave nothing behind")
    taken_down(stage, "passing")
    stage.picture(LAST)


def look_first(stage: Stage) -> None:
    stage.typed("Look first")
    (trial,) = (one for one in commands("Look first") if one.startswith("dovetail run"))
    with stage.trying(trial) as port:
        stage.until(lambda: looked_for(asked(port, "/metrics")))
        stage.said[trial] = asked(port, "/metrics")


def served(stage: Stage, wanted: dict[str, int]) -> None:
    """Every pod runs, and every claim is as it should be."""
    stage.until(lambda: all(len(stage.running(app)) == count for app, count in wanted.items()))
    stage.until(lambda: all(is_true(one, "Ready") for one in stage.all(kinds.NODE_CLAIMS)))


def judged(stage: Stage, who: str) -> None:
    """It leads, and has looked at every node for everything it would take one away for."""
    stage.until(lambda: stage.leads(who) and stage.followers[who].ready and looked_for(stage.followers[who].page()))


def looked_for(page: str) -> bool:
    name = "karpenter_voluntary_disruption_decision_evaluation_duration_seconds_count"
    found = re.findall(rf'^{name}\{{[^}}]*reason="([A-Za-z]+)"[^}}]*\}} (\S+)$', page, re.MULTILINE)
    done = {reason for reason, count in found if float(count) > 0}
    return done >= LOOKED_FOR


def taken_down(stage: Stage, app: str) -> None:
    """A workload ends and somebody deletes its claim, whoever bought the node."""
    (pod,) = stage.running(app)
    home = pod["spec"]["nodeName"]
    stage.kubectl(f"scale deployment {app} --replicas 0")
    (claim,) = (name_of(one) for one in stage.all(kinds.NODE_CLAIMS) if one["status"].get("nodeName") == home)
    stage.kubectl(f"delete nodeclaim {claim} --wait=false")
    stage.until(lambda: claim not in {name_of(one) for one in stage.all(kinds.NODE_CLAIMS)})
    stage.until(lambda: home not in {name_of(one) for one in stage.all(kinds.NODES)})


# ---- nobody is disturbed


def told_to_go(story: Stage) -> set[str]:
    """The nodes somebody deleted by hand."""
    return story.pictures[BEFORE].homes("leaving") | story.pictures[OVER].homes("passing")


def test_no_node_is_replaced_on_the_way_over_or_back(told: Stage) -> None:
    kept = {
        name: one["metadata"]["uid"]
        for name, one in told.pictures[BEFORE].nodes.items()
        if name not in told_to_go(told)
    }
    assert len(kept) == 6
    for stage in (BESIDE, HELD, OVER, BACK, LAST):
        there = {name: one["metadata"]["uid"] for name, one in told.pictures[stage].nodes.items()}
        assert kept.items() <= there.items(), stage


def test_pods_stay_where_they_are(told: Stage) -> None:
    for app in ("web", "reports"):
        first = pods_of(told.pictures[BEFORE], app)
        assert len(first) == AT_FIRST[app]
        assert all(pods_of(told.pictures[stage], app) == first for stage in (BESIDE, HELD, OVER, BACK, LAST))


def pods_of(picture: Picture, app: str) -> dict[str, str]:
    pods = (one for one in picture.objects["pods"] if one["metadata"].get("labels", {}).get("app") == app)
    return {one["metadata"]["uid"]: one["spec"]["nodeName"] for one in pods}


def test_no_claim_drifts_at_any_moment(told: Stage) -> None:
    claims = told.record.of(kinds.NODE_CLAIMS)
    assert len({name_of(one) for one in claims}) == 12
    assert [name_of(one) for one in claims if is_true(one, "Drifted")] == []


def test_no_node_is_ever_marked_to_go_but_those_somebody_deleted(told: Stage) -> None:
    going = {name_of(one) for one in told.record.of(kinds.NODES) if marked(one)}
    assert going == told_to_go(told)
    disrupted = [one for one in told.record.of(kinds.NODE_CLAIMS) if is_true(one, "DisruptionReason")]
    assert disrupted == []


def marked(node: Object) -> bool:
    taints = {one["key"] for one in node["spec"].get("taints", ())}
    return "karpenter.sh/disrupted" in taints or "deletionTimestamp" in node["metadata"]


def test_both_find_the_same_hash_in_every_pool_and_write_it_on_every_claim(told: Stage) -> None:
    values: dict[str, set[str]] = {}
    for one in told.record.of(kinds.NODE_POOLS):
        if HASH in one["metadata"].get("annotations", {}):
            values.setdefault(name_of(one), set()).add(noted(one, HASH) + noted(one, f"{HASH}-version"))
    assert {name: len(found) for name, found in values.items()} == {"general": 1, "batch": 1, "always": 1}
    for one in told.record.of(kinds.NODE_CLAIMS):
        assert (
            noted(one, HASH) + noted(one, f"{HASH}-version")
            in values[one["metadata"]["labels"]["karpenter.sh/nodepool"]]
        )


def noted(one: Object, key: str) -> str:
    return str(one["metadata"]["annotations"][key])


def test_the_static_pool_keeps_its_one_node(told: Stage) -> None:
    for picture in told.pictures.values():
        static = [
            one for one in picture.claims.values() if one["metadata"]["labels"]["karpenter.sh/nodepool"] == "always"
        ]
        assert len(static) == 1, picture.stage


# ---- pods are served


def test_pods_that_came_while_nobody_acted_get_new_nodes_from_dovetail(told: Stage) -> None:
    new = told.pictures[HELD].nodes.keys() - told.pictures[BEFORE].nodes.keys()
    assert told.pictures[HELD].homes("checkout") | told.pictures[HELD].homes("passing") == new
    assert len(new) == 3


def test_and_from_karpenter_on_the_way_back(told: Stage) -> None:
    new = told.pictures[BACK].nodes.keys() - told.pictures[OVER].nodes.keys()
    assert told.pictures[BACK].homes("search") == new
    assert len(new) == 2


def test_each_takes_down_what_the_other_bought(told: Stage) -> None:
    (first,), (second,) = told.pictures[BEFORE].homes("leaving"), told.pictures[OVER].homes("passing")
    assert first not in told.pictures[OVER].nodes
    assert second in told.pictures[BACK].nodes
    assert second not in told.pictures[LAST].nodes
    assert told.record.gone(kinds.NODES) == {first, second}


# ---- one at a time


def test_beside_karpenter_dovetail_waits_and_writes_nothing(told: Stage) -> None:
    assert not any(DOVETAIL in managers(told.pictures[stage]) for stage in (BEFORE, BESIDE))
    assert DOVETAIL in managers(told.pictures[OVER])


def managers(picture: Picture) -> set[str]:
    """Who wrote on what Karpenter looks after."""
    written = (one for kind in WATCHED for one in picture.of(kind).values())
    return {entry["manager"] for one in written for entry in one["metadata"].get("managedFields", ())}


def test_the_lease_goes_from_hand_to_hand(told: Stage) -> None:
    leaders = {name: one.leader for name, one in told.pictures.items()}
    theirs = dict.fromkeys((BEFORE, BESIDE, BACK, LAST), KARPENTER)
    assert leaders == theirs | dict.fromkeys((HELD, OVER), DOVETAIL)


def test_a_dry_run_beside_karpenter_would_have_bought_ended_and_moved_nothing(told: Stage) -> None:
    """It may find a condition that Karpenter has not got round to."""
    (page,) = (said for command, said in told.said.items() if command.startswith("dovetail run"))
    effects = re.findall(r'^dovetail_dry_run_effects_total\{effect="(\w+)"\}', page, re.MULTILINE)
    assert set(effects) <= {"saveclaim"}


# ---- what is left


def test_karpenter_finds_its_objects_as_it_makes_them_itself(told: Stage) -> None:
    first, last = told.pictures[BEFORE], told.pictures[LAST]
    for kind in (kinds.NODES, kinds.NODE_CLAIMS, kinds.NODE_POOLS, kinds.KWOK_NODE_CLASSES):
        assert shape(last.of(kind).values()) == shape(first.of(kind).values()), kind.plural


def shape(found: object) -> dict[str, set[str]]:
    """What a kind's objects carry, whatever the values."""
    result: dict[str, set[str]] = {
        name: set() for name in ("finalizers", "annotations", "labels", "taints", "conditions")
    }
    for one in found:  # type: ignore[attr-defined]
        about, spec = one["metadata"], one.get("spec", {})
        for name in ("finalizers", "annotations", "labels"):
            result[name] |= set(about.get(name, ()))
        result["taints"] |= {taint["key"] for taint in spec.get("taints", ())}
        conditions = one.get("status", {}).get("conditions", ())
        result["conditions"] |= {f"{held['type']}={held['status']}" for held in conditions}
    return result


def test_no_word_of_dovetail_is_left(told: Stage) -> None:
    for found in told.pictures[LAST].objects.values():
        for one in found:
            bare = {
                **one,
                "metadata": {name: value for name, value in one["metadata"].items() if name != "managedFields"},
            }
            assert "dovetail" not in json.dumps(bare)


def test_every_metric_of_karpenter_is_served_under_its_name(told: Stage) -> None:
    theirs = series(told.pictures[BEFORE]) | series(told.pictures[LAST])
    assert len(theirs) > 30
    assert theirs - series(told.pictures[OVER]) <= OLDER


def series(picture: Picture) -> set[str]:
    return set(re.findall(r"^# TYPE (karpenter_\S+|operator_\S+)", picture.metrics, re.MULTILINE))


def test_the_rights_that_are_shipped_were_enough_and_nothing_failed(told: Stage) -> None:
    lines = told.followers[DOVETAIL].log.read_text().splitlines()
    assert lines
    assert told.followers[DOVETAIL].starts == 2
    assert [
        one for one in lines if "forbidden" in one.lower() or "stacktrace" in one or '"level": "error"' in one
    ] == []


def test_every_command_of_the_page_was_typed(told: Stage) -> None:
    assert sorted(told.ran) == sorted(every_command())
