"""The loops of Cluster API's machines. `stores` is what is known, `hands` carries effects out, `loops` looks at each
object when something it depends on changes. Infrastructure machines are always looked after; Machines, sets and health
checks only in a cluster where Cluster API's own controllers do not (`switch`).

`process` puts a term of office together; `grounds` is what machines stand on, `clusters` where they are made,
`measured` and `gauges` what dashboards see, `joining` what happens around simulated instances."""
