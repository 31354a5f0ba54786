"""The termination handler: one small process on every node that a cloud may take away.

    metadata ─▶ sources ─▶ core.handler: what stands ─▶ acting: marks, evictions ─▶ API server

Nothing leaves the node but questions to its own metadata server and calls to the API server, and nothing is kept on it:
what has to be remembered is an annotation of the Node.
"""
