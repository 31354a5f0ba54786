"""An AWS to talk to: moto, in this process, taught what a node provisioner needs of EC2.

    from tools.aws_server import AwsServer

    with AwsServer() as server:
        account = server.furnished()          # a VPC, a subnet in each zone, security groups, images, a role
        server.world.sell_out("spot", "m5.large")
        ...                                   # any AWS SDK with endpoint_url=server.url

What moto (5.2.5) lacks or does otherwise is grafted on to its EC2 response class, one file for each subject:

    world          the knobs tests turn: time, stock, prices, faults, and the count of calls
    faults         throttles, refusals, answers that get lost, on any action of any service
    wire           EC2's XML, written from botocore's model: an answer with a field the model lacks is an error here
    fleets         CreateFleet (instant): order of pools, errors beside instances, client tokens
    running        RunInstances: one machine as asked for, by client token
    buying         one machine of one pool, with the fields of its launch template
    lives          when a machine is seen, runs, shuts down and is gone
    instances      Describe, Terminate, Reboot; filters that hold together; pages
    statuses       DescribeInstanceStatus with impairments and scheduled events
    reservations   capacity reservations, blocks and interruptible ones
    templates      launch templates: limits, tags, the right errors
    types          DescribeInstanceTypes in pages, with DryRun
    prices         spot price history; the Pricing service
    placement      placement groups
    parameters     the public SSM parameters of node images
    profiles       IAM's path prefixes
    events         what EventBridge would send, and the interruption queue
    kubelets       machines that run become Nodes
    server         the WSGI server and the services moto has not got
    account        something to launch into

moto's state belongs to the process, therefore `WORLD` does too. None of this proves anything about the real EC2.
"""

from tools.aws_server.account import Account
from tools.aws_server.server import AwsServer
from tools.aws_server.world import WORLD, World

__all__ = ["WORLD", "Account", "AwsServer", "World"]
