"""Amazon EC2: what it sells, how its answers are read, and how machines are bought.

Bundled or live, answers are read the same way:

    wire → parse → load      DescribeInstanceTypes and our own files → a `Listing`;  labels    what a node carries

Asking what is sold, and selling it on to the catalog (`market` says who calls what):

    types_live, prices_live, spot_history     questions to EC2 and Pricing, and how their answers are read
    region                                    a `Listing` and its answers, from files or live; `repriced`
    freshness                                 how old each of them is, and why it is not newer
    class_terms, class_specs, class_rows      what a node class makes of a region: refusals, specs, offerings
    reserved_rows, discovered                 offerings of its reservations; memory that nodes reported
    shifts        zones that ARC has shifted away from, which are left alone
    market        `AwsMarket`, the four questions;  discovery   keeps it up to date;  refresh   once, for the CLI

Talking to AWS, from the bottom:

    calls         every call there is, as values: service, pages, deadline, whether it may be repeated
    access        region and endpoint, who watches (`Watch`), where time comes from
    errors        one table from AWS's codes to the errors of `clouds.port`; `code_of` tells the code again
    wholeness     whether an answer says what it must; one that does not is no answer
    models        AWS's descriptions of its services, cut to those calls;  reading   long answers, beside the loop
    client        `Aws`: `ask(call, **request)`, `all(call, …)` for pages, `may(call, …)` for dry runs; imports
                  the SDK, and nobody else does
    batching      `Batcher`: wishes of one key within a moment are one call

A node class, resolved (`resolved.ResolvedClass`): subnets, security groups, images, profile, user data, disks, network,
metadata, tags, reservations. `nodeclass.Resolver` makes it, and says in the class's status what it found; launching
only reads it, and `drift.drifted` compares a machine with it. `user_data(Boot) -> str` is
asked for every type of an order and must not depend on the claim's name: equal answers share a launch template.

Buying, each step a value for the next:

    choices       Order, ResolvedClass        → Rungs: reserved, spot, on-demand, each of Ways (type, zone, reservation)
    contents      Way's image, user data …    → LaunchTemplateData
    templates     LaunchTemplateData          → the name of a template with that content, made, kept, swept
    addresses     subnets                     → the one of each zone with the most free addresses
    shapes        Rung                        → Shape: a Fleet (no claim in it) and what its pools are to the order
    fleet         Fleet, claims, token        → CreateFleet;  its answer → Bought and Missed;  Missed → Shortages
    sales         Fleet, claim                → Sale: batches, client tokens, finding again what a token bought
    dealing       `Deals`                     which machine is whose until its claim says so
    launching     `Launcher.launch(order, resolved) -> Instance`, `find(name)`, `resume(claims)`, `ended(name)`

Machines that were bought:

    tags          whose a machine is, and for which claims it was bought
    described     an EC2 instance as a `Machine`; `instance_of(machine, kind)` as a `core.instances.Instance`;
                  `id_of("aws:///zone/i-…")`
    instances     `Instances`: `get`, `ours`, `of_claim`, `terminate`, `tag`, `reboot`
    ends          instances terminated many at a time

Single machines of Cluster API: `machines`, whose docstring maps it.

What happens to them later:

    interruption_messages     EventBridge's events, read;  interruption   `Interruptions.run`: the queue, heard
    statuses                  what EC2's own checks say
    upkeep                    `Upkeep`, the cloud's `keeper` (`clouds.port.Kept`): tags, lost reservations, blocks that
                              end, checks; `controllers.tending` asks it and writes what it says

All of it together, for whoever runs it:

    opening       whether AWS can be used at all, in a sentence;  options   what a user may say, and who is told
    selling       classes resolved, and told to the market
    cloud         `AwsCloud`, the `clouds.port.Cloud`; its `run` is what goes on beside, its `close` the end
"""
