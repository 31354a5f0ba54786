"""Terms become questions to EC2 (S3.1), and counts stay right between two looks (S3.5, S3.12)."""

from __future__ import annotations

from dovetail.clouds.aws import selecting
from dovetail.clouds.aws.reservation_counts import Counts


def test_ids_are_asked_for_together_and_tags_each_by_themselves():
    terms = [{"id": "subnet-b"}, {"tags": {"team": "a", "env": "*"}}, {"id": "subnet-a"}, {"tags": {"x": "y"}}]
    assert selecting.subnets(terms) == [
        {"Filters": [{"Name": "subnet-id", "Values": ["subnet-a", "subnet-b"]}]},
        {"Filters": [{"Name": "tag-key", "Values": ["env"]}, {"Name": "tag:team", "Values": ["a"]}]},
        {"Filters": [{"Name": "tag:x", "Values": ["y"]}]},
    ]


def test_security_groups_have_names_too():
    assert selecting.security_groups([{"name": "web"}, {"name": "db"}, {"id": "sg-1"}]) == [
        {"Filters": [{"Name": "group-id", "Values": ["sg-1"]}]},
        {"Filters": [{"Name": "group-name", "Values": ["db", "web"]}]},
    ]


def test_a_name_without_an_owner_is_ours_or_amazons():
    (question,) = selecting.images([{"name": "my-*"}])
    assert question["Owners"] == ["self", "amazon"]
    assert question["IncludeDeprecated"] is True
    assert {"Name": "state", "Values": ["available"]} in question["Filters"]


def test_an_owner_that_is_named_is_the_only_one_asked():
    (question,) = selecting.images([{"name": "x", "owner": "123456789012"}])
    assert question["Owners"] == ["123456789012"]


def test_images_of_parameters_are_asked_for_with_those_that_were_named():
    (question,) = selecting.images([{"id": "ami-1"}, {"ssmParameter": "/a"}, {"alias": "al2023@latest"}], ["ami-2"])
    assert question["Filters"][0] == {"Name": "image-id", "Values": ["ami-1", "ami-2"]}


def test_s3_1_a_reservation_is_selected_by_id_alone_or_by_any_of_the_rest():
    by_id, by_rest = selecting.reservations(
        [
            {"id": "cr-1"},
            {"instanceType": "m5.large", "ownerID": "123456789012", "tags": {"team": "*"}, "type": "targeted"},
        ]
    )
    assert by_id["CapacityReservationIds"] == ["cr-1"]
    assert by_rest["Filters"] == [
        {"Name": "state", "Values": ["active"]},
        {"Name": "owner-id", "Values": ["123456789012"]},
        {"Name": "instance-type", "Values": ["m5.large"]},
        {"Name": "instance-match-criteria", "Values": ["targeted"]},
        {"Name": "tag-key", "Values": ["team"]},
    ]


def test_what_we_launch_and_end_is_counted_at_once():
    counts = Counts()
    counts.saw([("cr-1", 2)], at=10.0)
    counts.launched("cr-1", at=11.0)
    assert counts.left("cr-1") == 1
    counts.launched("cr-1", at=12.0)
    counts.launched("cr-1", at=13.0)
    assert counts.left("cr-1") == 0
    counts.ended("cr-1", at=14.0)
    assert counts.left("cr-1") == 1


def test_a_launch_before_the_last_look_is_in_it_already():
    counts = Counts()
    counts.saw([("cr-1", 2)], at=10.0)
    counts.launched("cr-1", at=9.0)
    assert counts.left("cr-1") == 2


def test_an_answer_that_was_overtaken_changes_nothing():
    counts = Counts()
    counts.saw([("cr-1", 2)], at=10.0)
    counts.exhausted("cr-1", at=12.0)
    counts.saw([("cr-1", 2)], at=11.0)
    assert counts.left("cr-1") == 0
    counts.saw([("cr-1", 1)], at=13.0)
    assert counts.left("cr-1") == 1


def test_one_nobody_has_seen_has_nothing_left():
    counts = Counts()
    counts.ended("cr-9", at=1.0)
    assert counts.left("cr-9") == 0


def test_a_generation_is_another_only_when_a_count_is():
    counts = Counts()
    counts.saw([("cr-1", 2)], at=10.0)
    before = counts.generation
    counts.saw([("cr-1", 2)], at=11.0)
    assert counts.generation == before
    counts.exhausted("cr-1", at=12.0)
    assert counts.generation == before + 1
    counts.forget(["cr-1", "cr-2"])
    assert counts.generation == before + 2
