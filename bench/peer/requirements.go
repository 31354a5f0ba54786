package main

// The algebra of requirements, which every placement goes through: may this type's labels meet what the pool and the
// pod together ask? One operation is one such question; the types of the catalogue take turns, so that questions that
// end in a refusal (another architecture, too few cpus) have the share they have in a real filter pass, and the peer's
// refusal, an error value, is made as often as it makes it there.

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// wanted is what a NodePool and a pod ask together: six keys of all kinds of operator. The zones are the first two of
// the catalogue in alphabetical order.
func wanted(types instanceTypes) scheduling.Requirements {
	return scheduling.NewRequirements(
		scheduling.NewRequirement(corev1.LabelArchStable, corev1.NodeSelectorOpIn, "amd64"),
		scheduling.NewRequirement(corev1.LabelOSStable, corev1.NodeSelectorOpIn, "linux"),
		scheduling.NewRequirement(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "spot", "on-demand"),
		scheduling.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, firstTwoZones(types)...),
		scheduling.NewRequirement(labelEndingIn(types, "/instance-cpu"), corev1.NodeSelectorOpGt, "3"),
		scheduling.NewRequirement(labelEndingIn(types, "/instance-family"), corev1.NodeSelectorOpNotIn, "t2", "t3", "m1"),
	)
}

func firstTwoZones(types instanceTypes) []string {
	zones := map[string]bool{}
	for _, it := range types {
		for _, zone := range it.Requirements.Get(corev1.LabelTopologyZone).Values() {
			zones[zone] = true
		}
	}
	sorted := slices.Sorted(maps.Keys(zones))
	return sorted[:min(2, len(sorted))]
}

// labelEndingIn is the catalogue's own label of that ending where it brings one (a cloud's), else the kwok loader's.
func labelEndingIn(types instanceTypes, ending string) string {
	keys := slices.Sorted(maps.Keys(types[0].Requirements))
	matching := slices.DeleteFunc(keys, func(key string) bool { return !strings.HasSuffix(key, ending) })
	if own := slices.IndexFunc(matching, func(key string) bool { return !strings.Contains(key, "kwok") }); own >= 0 {
		return matching[own]
	}
	return matching[0]
}

// measureRequirements: `intersects` asks only about keys both sides have, as the peer asks of instance types;
// `compatible` adds the check for keys the type does not define, with well-known labels excused.
func measureRequirements(types instanceTypes) {
	ask := wanted(types)
	perSecond := func(question func(labels scheduling.Requirements) error) float64 {
		met := 0
		result := testing.Benchmark(func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if question(types[i%len(types)].Requirements) == nil {
					met++
				}
			}
		})
		progress("  met: %d of %d", met, result.N)
		return float64(result.N) / result.T.Seconds()
	}
	report("intersects", "op/s", perSecond(func(labels scheduling.Requirements) error {
		return labels.Intersects(ask)
	}))
	report("compatible", "op/s", perSecond(func(labels scheduling.Requirements) error {
		return labels.Compatible(ask, scheduling.AllowUndefinedWellKnownLabels)
	}))
}
