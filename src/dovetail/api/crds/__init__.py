"""The resources dovetail brings to a cluster, as typed structs and as the definitions a server needs.

One module for each kind holds its structs, annotated with what the server enforces (`schema`), and its `DEFINITION`.
`openapi` turns structs into structural schemas, `definition` puts the rest of a CustomResourceDefinition around them,
and `every.DEFINITIONS` is the list of all. The same structs decode and encode the objects.
"""
