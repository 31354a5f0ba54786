// Command peer measures sigs.k8s.io/karpenter on the very questions our own benchmarks ask of us.
//
// It calls the peer's published packages and adds nothing to them: what stands here is the catalogue that goes in,
// the stopwatch, and the rows that come out. Where a choice had to be made about how a part of the peer is driven
// that only exists inside a cloud's own provider, the cheaper way was taken and the comment beside it says so, so
// that an advantage we claim is never one we gave ourselves.
//
//	peer catalog --types FILE.json --pools 20 --classes 2
//	peer schedule --types FILE.json --pods FILE.json --preferences Respect --min-values 0 --repeat 1 --limit 2m
//	peer disrupt --types FILE.json --cluster FILE.json --limit 1m
//
// Rows go to stdout as one JSON object a line, {"row":…,"unit":…,"value":…}; progress goes to stderr.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// subcommands: one per benchmark that has a peer. Each parses its own arguments.
var subcommands = map[string]func(args []string) error{
	"catalog":  runCatalog,
	"disrupt":  runDisrupt,
	"schedule": runSchedule,
}

func main() {
	log.SetLogger(logr.Discard()) // the peer's controllers log each pass; a terminal is not what is measured
	names := strings.Join(slices.Sorted(maps.Keys(subcommands)), ", ")
	if len(os.Args) < 2 {
		fmt.Fprintf(os.Stderr, "usage: peer SUBCOMMAND [flags], where SUBCOMMAND is one of: %s\n", names)
		os.Exit(2)
	}
	run, known := subcommands[os.Args[1]]
	if !known {
		fmt.Fprintf(os.Stderr, "peer: there is no subcommand %q; choose one of: %s\n", os.Args[1], names)
		os.Exit(2)
	}
	if err := run(os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "peer %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
