//go:build tools

// Package tools pins Karpenter's controller for kwok nodes, so that `go mod tidy` keeps what it needs.
package tools

import _ "sigs.k8s.io/karpenter/kwok"
