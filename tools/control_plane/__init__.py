"""A real Kubernetes control plane for tests: compiled from pinned Go modules, started on loopback.

`build` makes the programs once and keeps them; `start` runs them for as long as a test session lasts; everything
else here serves those two. Nothing is downloaded as a binary: the Go client fetches the modules, `go.sum` says what
they must be, and the compiler on this machine does the rest.
"""
