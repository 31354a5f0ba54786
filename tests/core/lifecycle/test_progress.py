"""§2.2–§2.6: a claim from its first look to Ready, and the ways it is given up."""

from __future__ import annotations

from dataclasses import replace

from tests.core.lifecycle.claims import CLASS, START, amounts, claim, node

from dovetail.core import conditions
from dovetail.core.conditions import Status
from dovetail.core.effects import Count, Delete, Effect, Health, Launch, Ref, SaveClaim, SaveNode, Say, Step
from dovetail.core.instances import ClassNotReady, Instance, LaunchProblem, NoCapacity
from dovetail.core.lifecycle import launch, progress
from dovetail.core.nodeclaims import (
    FINALIZER,
    INITIALIZED,
    INITIALIZED_LABEL,
    LAUNCHED,
    READY,
    REGISTERED,
    REGISTERED_LABEL,
    NodeClaim,
    NodeObject,
)
from dovetail.core.taints import Effect as TaintEffect
from dovetail.core.taints import Taint

STARTUP = Taint("example.com/agent-not-ready", TaintEffect.NO_SCHEDULE)


def one(step: Step, kind: type[Effect]) -> Effect:
    found = [effect for effect in step.effects if isinstance(effect, kind)]
    assert len(found) == 1, step.effects
    return found[0]


def claim_after(step: Step) -> NodeClaim:
    saved = one(step, SaveClaim)
    assert isinstance(saved, SaveClaim)
    return saved.after


def node_after(step: Step) -> NodeObject:
    saved = one(step, SaveNode)
    assert isinstance(saved, SaveNode)
    return saved.after


def reason(held: NodeClaim, type_: str) -> str:
    found = conditions.found(held.conditions, type_)
    assert found is not None
    return found.reason


# ---- launch


def test_the_finalizer_is_written_before_anything_is_bought():
    step = progress.advance(claim(finalizers=()), (), START)
    assert claim_after(step).meta.finalizers == (FINALIZER,)
    assert not any(isinstance(effect, Launch) for effect in step.effects)


def test_a_claim_with_its_finalizer_is_launched():
    assert isinstance(one(progress.advance(claim(), (), START), Launch), Launch)


def test_a_launched_claim_keeps_its_own_labels_over_the_clouds_and_takes_the_clouds_annotations():
    mine = claim(labels={"team": "a"}, annotations={"note": "mine"})
    bought = Instance(
        "aws:///i-1", labels={"team": "cloud", "zone": "a"}, annotations={"note": "cloud"}, image_id="ami"
    )
    after = launch.launched(mine, bought, START + 1)
    assert after.meta.labels["team"] == "a"
    assert after.meta.labels["zone"] == "a"
    assert after.meta.annotations["note"] == "cloud"
    assert (after.provider_id, after.image_id) == ("aws:///i-1", "ami")
    assert after.is_true(LAUNCHED)


def test_no_capacity_deletes_the_claim_and_says_so():
    step = launch.refused(claim(), NoCapacity("all offerings are out: " + "x" * 2000), START)
    told, counted = one(step, Say), one(step, Count)
    assert isinstance(told, Say)
    assert told.reason == "InsufficientCapacityError"
    assert len(told.message) == 1024
    assert isinstance(counted, Count)
    assert counted.labels["reason"] == "insufficient_capacity"
    assert isinstance(one(step, Delete), Delete)


def test_a_class_that_is_not_there_is_said_beside_that_there_is_no_capacity():
    step = launch.refused(claim(), NoCapacity("there is no EC2NodeClass default", no_class=True), START)
    told = [each for each in step.effects if isinstance(each, Say)]
    assert [each.reason for each in told] == ["NodeClassResolutionError", "InsufficientCapacityError"]
    assert told[0].message.startswith("Failed resolving NodeClass: there is no EC2NodeClass default; ")
    assert isinstance(one(step, Delete), Delete)


def test_a_class_that_is_not_ready_deletes_the_claim():
    counted = one(launch.refused(claim(), ClassNotReady("class default is not ready"), START), Count)
    assert isinstance(counted, Count)
    assert counted.labels["reason"] == "nodeclass_not_ready"


def test_any_other_failure_is_written_down_and_tried_again():
    step = launch.refused(claim(), LaunchProblem("quota exceeded", "QuotaExceeded"), START)
    assert reason(claim_after(step), LAUNCHED) == "QuotaExceeded"
    assert reason(claim_after(launch.refused(claim(), LaunchProblem("boom"), START)), LAUNCHED) == "LaunchFailed"
    assert step.again


def test_pods_that_were_to_get_the_machine_hear_that_it_was_not_bought():
    waiting = Ref("Pod", "web-1", "web-uid", "default")
    step = launch.refused(claim(), NoCapacity("sold out"), START, [waiting])
    heard = [effect for effect in step.effects if isinstance(effect, Say) and effect.about == waiting]
    assert [one.message for one in heard] == ["NodeClaim general-1 nominated for this pod failed to launch: sold out"]


# ---- registration and initialization


def test_a_claim_waits_for_its_node():
    held = claim_after(progress.advance(claim(true=(LAUNCHED,)), (), START))
    assert reason(held, REGISTERED) == "NodeNotFound"


def test_two_nodes_with_one_provider_id_are_never_right():
    step = progress.advance(claim(true=(LAUNCHED,)), (node("a"), node("b")), START)
    found = conditions.found(claim_after(step).conditions, REGISTERED)
    assert found is not None
    assert (found.status, found.reason) == (Status.FALSE, "MultipleNodesFound")


def test_a_node_gets_what_its_claim_promised_and_loses_the_unregistered_taint():
    promised = Taint("dedicated", TaintEffect.NO_SCHEDULE, "gpu")
    mine = claim(true=(LAUNCHED,), labels={"team": "a"}, annotations={"x": "y"}, taints=(promised,))
    after = node_after(progress.advance(mine, (node(ready=False, labels={"team": "kubelet"}),), START))
    assert after.meta.labels["team"] == "a"
    assert after.meta.labels[REGISTERED_LABEL] == "true"
    assert after.meta.annotations["x"] == "y"
    assert after.meta.finalizers == (FINALIZER,)
    assert after.meta.owners[0].uid == mine.meta.uid
    assert after.taints == (promised,)


def test_taints_are_left_alone_on_a_node_that_says_so():
    mine = claim(true=(LAUNCHED,), taints=(STARTUP,))
    joined = node(ready=False, labels={"karpenter.sh/do-not-sync-taints": "true"})
    assert node_after(progress.advance(mine, (joined,), START)).taints == ()


def test_a_node_that_joined_without_the_unregistered_taint_is_told_of_and_still_registers():
    step = progress.advance(claim(true=(LAUNCHED,)), (node(ready=False, taints=()),), START)
    told = one(step, Say)
    assert isinstance(told, Say)
    assert told.reason == "UnregisteredTaintMissing"
    assert told.message.startswith("Missing karpenter.sh/unregistered taint which prevents registration related race")
    assert claim_after(step).is_true(REGISTERED)


def test_a_node_that_is_ready_when_it_joins_is_brought_up_in_one_write_each():
    step = progress.advance(claim(true=(LAUNCHED,)), (node(),), START + 3)
    after = claim_after(step)
    assert after.is_true(READY)
    assert after.node_name == "node-1"
    assert node_after(step).meta.labels[INITIALIZED_LABEL] == "true"
    assert sum(isinstance(effect, SaveNode | SaveClaim) for effect in step.effects) == 2
    healthy = one(step, Health)
    assert isinstance(healthy, Health)
    assert healthy.healthy


def waiting_for(held: NodeClaim, joined: NodeObject) -> str:
    return reason(claim_after(progress.advance(held, (joined,), START)), INITIALIZED)


def test_what_keeps_a_node_from_being_used_is_named():
    up = claim(true=(LAUNCHED, REGISTERED))
    settled = {"labels": {REGISTERED_LABEL: "true"}, "taints": ()}
    assert waiting_for(up, node(ready=False, **settled)) == "NodeNotReady"
    starting = claim(true=(LAUNCHED, REGISTERED), startup_taints=(STARTUP,))
    assert waiting_for(starting, node(taints=(STARTUP,))) == "StartupTaintsExist"
    passing = Taint("node.cloudprovider.kubernetes.io/uninitialized", TaintEffect.NO_SCHEDULE, "true")
    assert waiting_for(up, node(taints=(passing,))) == "KnownEphemeralTaintsExist"
    assert waiting_for(up, node(taints=(Taint("readiness.k8s.io/net", TaintEffect.NO_SCHEDULE),))) == (
        "KnownEphemeralTaintsExist"
    )
    wants_gpu = claim(true=(LAUNCHED, REGISTERED), requests=amounts(**{"nvidia.com/gpu": "1"}))
    assert waiting_for(wants_gpu, node(taints=())) == "ResourceNotRegistered"


def test_a_taint_that_stays_and_a_resource_that_is_there_keep_no_node_from_being_used():
    up = claim(true=(LAUNCHED, REGISTERED), requests=amounts(cpu="1"))
    dedicated = Taint("dedicated", TaintEffect.NO_SCHEDULE, "gpu")
    step = progress.advance(up, (node(taints=(dedicated,), labels={REGISTERED_LABEL: "true"}),), START)
    assert claim_after(step).is_true(INITIALIZED)


def test_a_registered_claim_whose_node_went_away_waits_for_it_again():
    held = claim_after(progress.advance(claim(true=(LAUNCHED, REGISTERED)), (), START))
    assert reason(held, INITIALIZED) == "NodeNotFound"


def test_what_was_decided_before_holds_for_a_later_generation_and_so_does_ready():
    held = claim(true=(LAUNCHED, REGISTERED, INITIALIZED), node_name="node-1")
    later = replace(held, meta=replace(held.meta, generation=2))
    after = claim_after(progress.advance(later, (node(taints=()),), START))
    assert {one.generation for one in after.conditions} == {2}
    assert after.is_true(READY)


def test_a_claim_of_no_pool_comes_up_and_is_given_up_without_speaking_for_one():
    bare = claim(true=(LAUNCHED,), owners=())
    up = progress.advance(bare, (node(),), START)
    assert claim_after(up).is_true(READY)
    late = progress.advance(bare, (), START + 900)
    assert isinstance(one(late, Delete), Delete)
    assert not any(isinstance(effect, Health) for effect in (*up.effects, *late.effects))


def test_a_claim_and_a_node_that_do_not_name_their_class_are_given_its_name():
    nameless = claim(true=(LAUNCHED,))
    others = {key: value for key, value in nameless.meta.labels.items() if key != CLASS.label_key}
    nameless = replace(nameless, meta=replace(nameless.meta, labels=others))
    named = claim_after(progress.advance(nameless, (), START))
    assert named.meta.labels[CLASS.label_key] == CLASS.name
    joined = node()
    joined = replace(joined, meta=replace(joined.meta, labels={}))
    assert node_after(progress.advance(named, (joined,), START)).meta.labels[CLASS.label_key] == CLASS.name


def test_a_startup_taint_that_was_removed_is_not_put_back():
    held = claim(true=(LAUNCHED, REGISTERED), startup_taints=(STARTUP,))
    step = progress.advance(held, (node(taints=(), labels={REGISTERED_LABEL: "true"}),), START)
    assert node_after(step).taints == ()
    assert claim_after(step).is_true(INITIALIZED)


def test_a_claim_that_is_up_is_left_alone():
    up = claim(true=(LAUNCHED, REGISTERED, INITIALIZED), node_name="node-1")
    assert progress.advance(up, (node(taints=()),), START + 1000) == Step()


# ---- liveness


def test_a_machine_that_is_not_bought_in_five_minutes_is_given_up():
    step = progress.advance(claim(), (), START + 300)
    counted, health = one(step, Count), one(step, Health)
    assert isinstance(counted, Count)
    assert counted.labels["reason"] == "launch_timeout"
    assert isinstance(health, Health)
    assert not health.healthy


def test_one_who_has_just_begun_to_look_orders_before_he_gives_up():
    """The machine may have been bought by one who died before he wrote it down."""
    assert isinstance(one(progress.advance(claim(), (), START + 5000, since=START + 4701), Launch), Launch)
    assert one(progress.advance(claim(), (), START + 5000, since=START + 4700), Count)


def test_a_machine_that_does_not_join_in_fifteen_minutes_is_given_up():
    held = claim(true=(LAUNCHED,))
    assert not any(isinstance(effect, Delete) for effect in progress.advance(held, (), START + 899).effects)
    counted = one(progress.advance(held, (), START + 900), Count)
    assert isinstance(counted, Count)
    assert counted.labels["reason"] == "registration_timeout"


def test_a_claim_late_for_both_limits_is_one_failure():
    step = progress.advance(claim(), (), START + 5000)
    assert sum(isinstance(effect, Health) for effect in step.effects) == 1


def test_the_next_look_is_when_the_time_is_over():
    assert progress.advance(claim(true=(LAUNCHED,)), (), START + 800).again == 100.0
