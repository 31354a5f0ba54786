"""AWSMachines behind `clouds.machines`: one Machine, one EC2 instance, bought with RunInstances and never replaced.

Each step is a value for the next:

    specs       AWSMachine's spec → Spec, or a refusal that names the field
    homes       what a machine has of its AWSCluster
    places      its subnet and security groups, by id, by filters, or by the cluster's tags
    disks       the image's disks and its own, all of which go with the instance
    marks       tags: whose an instance is, and which object's
    requests    order, Spec, place, disks, bootstrap data → one RunInstances request
    states      what EC2 says of an instance → Found
    looking     instances looked up many at a time; what EC2 has not heard of yet
    ec2         `Ec2Machines`: create, find, delete, instances;  `opened`
"""

from dovetail.clouds.aws.machines.ec2 import Ec2Machines, opened

__all__ = ["Ec2Machines", "opened"]
