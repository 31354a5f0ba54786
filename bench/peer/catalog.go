package main

// `peer catalog`: what it costs the peer to hold a catalogue and keep it true for many NodePools.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

const (
	loadRepeats    = 9
	refreshRepeats = 41
	overlayRepeats = 11
	warmUps        = 3

	touchedTypes = 50 // how many types the changing overlay selects
)

type catalogBench struct {
	path           string
	pools, classes int
}

func runCatalog(args []string) error {
	flags := flag.NewFlagSet("catalog", flag.ContinueOnError)
	b := catalogBench{}
	flags.StringVar(&b.path, "types", "", "instance types, a JSON file in the kwok provider's format")
	flags.IntVar(&b.pools, "pools", 20, "how many NodePools ask for types")
	flags.IntVar(&b.classes, "classes", 2, "how many node classes the pools are spread over")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if b.path == "" || b.pools < 1 || b.classes < 1 {
		return errors.New("--types is needed, and --pools and --classes are at least 1")
	}
	// load comes first: its peak of resident memory is only its own while nothing else has run
	for _, measure := range []func() error{b.load, b.poolsMemory, b.iceRefresh, b.overlayChange, b.requirements} {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

// load: from the file to types that can be scheduled with.
//
//   - load            seconds, with the peer's own loader (world.go). Extra requirements in the file are scanned by it
//     but neither built nor counted, to its advantage.
//   - load_heap       what the loaded types keep alive
//   - load_peak_rss   how far loading once raised the peak of the process's resident size (Linux only)
func (b catalogBench) load() error {
	progress("load: %d runs", loadRepeats)
	var types instanceTypes
	var err error
	residentBefore := peakResident()
	heap := heapOf(func() instanceTypes {
		types, err = loadTypes(b.path)
		return types
	})
	if err != nil {
		return err
	}
	if peak := peakResident() - residentBefore; peak > 0 {
		report("load_peak_rss", "MB", peak)
	}
	report("load_heap", "MB", heap)
	offerings := 0
	for _, it := range types {
		offerings += len(it.Offerings)
	}
	report("types", "count", float64(len(types)))
	report("offerings", "count", float64(offerings))
	report("load", "s", medianSeconds(warmUps, loadRepeats, func() { types = nil }, func() {
		types, err = loadTypes(b.path)
	}))
	return err
}

// poolsMemory: by how many percent the heap of a process that serves all pools exceeds that of one that serves one
// pool. A heap here is everything held: the provider's lists, the store of overlay results and the answers themselves.
//
// In v1.15.0 an overlay makes no deep copy of a type: requirements and overhead are shared, and only the struct,
// the slice of offerings and the offerings with a new price are copied for each pool. What grows is that, and the
// store, which has an entry with a text key for each pool, type and offering.
//
//   - pools_memory                         an overlay matches every type; the answers as they are served
//   - pools_memory_usable                  the same after Allocatable was asked of each type, as any scheduling pass
//     does; a type copied for an overlay computes and keeps its own
//   - pools_memory_no_overlay              no overlay: what grows is the second class's list
//   - pools_memory_one_class[_no_overlay]  all pools of one class, which leaves only what the pools cost
func (b catalogBench) poolsMemory() error {
	progress("pools_memory: %d pools, %d classes", b.pools, b.classes)
	// once for nothing: what the peer's packages set up on first use belongs to no pool
	if _, err := b.heapServing(1, 1, true, true); err != nil {
		return err
	}
	for _, variant := range []struct {
		row             string
		classes         int
		overlay, usable bool
	}{
		{"pools_memory", b.classes, true, false},
		{"pools_memory_usable", b.classes, true, true},
		{"pools_memory_no_overlay", b.classes, false, false},
		{"pools_memory_one_class", 1, true, false},
		{"pools_memory_one_class_no_overlay", 1, false, false},
	} {
		one, err := b.heapServing(1, variant.classes, variant.overlay, variant.usable)
		if err != nil {
			return err
		}
		all, err := b.heapServing(b.pools, variant.classes, variant.overlay, variant.usable)
		if err != nil {
			return err
		}
		progress("  %s: one pool %.1f MB, all %.1f MB", variant.row, one, all)
		report(variant.row, "%", 100*(all-one)/one)
	}
	return nil
}

func (b catalogBench) heapServing(pools, classes int, withOverlay, usable bool) (float64, error) {
	type held struct {
		world   *world
		answers []instanceTypes
	}
	var failure error
	heap := heapOf(func() held {
		var overlays []client.Object
		if withOverlay {
			overlays = append(overlays, overlayOnEveryType())
		}
		w, err := newWorld(b.path, pools, classes, overlays...)
		if err != nil {
			failure = err
			return held{}
		}
		answers, err := w.serve()
		failure = errors.Join(err, expectOverlaid(answers, withOverlay))
		if usable {
			makeUsable(answers)
		}
		return held{w, answers}
	})
	return heap, failure
}

// iceRefresh: a launch found one offering sold out (the first type, its first spot offering); how long until all
// pools have their types again.
//
// Under the stopwatch: the provider makes the named offering, its type and its list anew in each class, then every
// pool asks through the peer's overlay decorator. Not under it: the news's way to the provider, and the store's
// evaluation, which the peer does not repeat for a shortage.
//
//   - ice_refresh              an overlay matches every type; the provider of least work (see shelf)
//   - ice_refresh_usable       the same, and Allocatable asked of every served type, which is when it can be scheduled
//     with: a type that is a copy computes it again
//   - ice_refresh_copying      ice_refresh with a provider that copies one level deep on each call, as AWS's does
//   - ice_refresh_no_overlay   ice_refresh without any overlay: lists are handed out as they are
//   - ice_refresh_copying_no_overlay  both of the above
func (b catalogBench) iceRefresh() error {
	for _, variant := range []struct {
		row                      string
		overlay, usable, copying bool
	}{
		{"ice_refresh", true, false, false},
		{"ice_refresh_usable", true, true, false},
		{"ice_refresh_copying", true, false, true},
		{"ice_refresh_no_overlay", false, false, false},
		{"ice_refresh_copying_no_overlay", false, false, true},
	} {
		progress("%s: %d runs", variant.row, refreshRepeats)
		var overlays []client.Object
		if variant.overlay {
			overlays = append(overlays, overlayOnEveryType())
		}
		w, err := newWorld(b.path, b.pools, b.classes, overlays...)
		if err != nil {
			return err
		}
		w.shelf.copying = variant.copying
		spot := slices.IndexFunc(w.shelf.lists[className(0)][0].Offerings, func(o *cloudprovider.Offering) bool {
			return o.CapacityType() == v1.CapacityTypeSpot
		})
		if spot < 0 {
			return errors.New("the first type of the catalogue has no spot offering to run out of")
		}
		var answers []instanceTypes
		seconds := medianSeconds(warmUps, refreshRepeats, func() { w.shelf.runOut(0, spot, true) }, func() {
			w.shelf.runOut(0, spot, false)
			if answers, err = w.serve(); variant.usable {
				makeUsable(answers)
			}
		})
		if err := errors.Join(err, expectOverlaid(answers, variant.overlay), expectSoldOut(answers, spot)); err != nil {
			return err
		}
		report(variant.row, "s", seconds)
	}
	return nil
}

// overlayChange: the price adjustment of an overlay that selects the first 50 types by name has changed; how long until
// all pools are served with it. It is the only overlay there is.
//
//   - overlay_change         under the stopwatch: one whole pass of the peer's overlay controller, then every pool asks.
//     Not under it: writing the overlay, the watch that wakes the controller, its queue.
//   - overlay_change_client  how much of that is the in-memory client (lists, conditions): the same pass with a
//     provider that has no types. Subtract it to be left with the evaluation alone.
func (b catalogBench) overlayChange() error {
	progress("overlay_change: %d runs", overlayRepeats)
	types, err := loadTypes(b.path)
	if err != nil {
		return err
	}
	names := make([]string, 0, touchedTypes)
	for _, it := range types[:min(touchedTypes, len(types))] {
		names = append(names, it.Name)
	}
	changing := priceOverlay("-10%", v1alpha1.NodeSelectorRequirement{
		Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: names,
	})
	w, err := newWorld(b.path, b.pools, b.classes, changing)
	if err != nil {
		return err
	}
	var answers []instanceTypes
	turn := 0
	change := func() {
		turn++
		err = errors.Join(err, adjustPrice(w, changing.Name, fmt.Sprintf("-%d%%", 10+turn%2)))
	}
	answer := func() {
		passed := w.evaluate()
		var served error
		answers, served = w.serve()
		err = errors.Join(err, passed, served)
	}
	report("overlay_change", "s", medianSeconds(warmUps, overlayRepeats, change, answer))
	if err := errors.Join(err, expectOverlaidTypes(answers, len(names))); err != nil {
		return err
	}
	clear(w.shelf.lists)
	report("overlay_change_client", "s", medianSeconds(warmUps, overlayRepeats, change, answer))
	return err
}

func adjustPrice(w *world, name, adjustment string) error {
	current := &v1alpha1.NodeOverlay{}
	if err := w.client.Get(context.Background(), client.ObjectKey{Name: name}, current); err != nil {
		return err
	}
	current.Spec.PriceAdjustment = &adjustment
	return w.client.Update(context.Background(), current)
}

// requirements: see requirements.go. labels_per_type tells how rich the catalogue's types were.
func (b catalogBench) requirements() error {
	progress("intersects and compatible")
	types, err := loadLabelled(b.path)
	if err != nil {
		return err
	}
	labels := 0
	for _, it := range types {
		labels += len(it.Requirements)
	}
	report("labels_per_type", "count", float64(labels)/float64(len(types)))
	measureRequirements(types)
	return nil
}

func makeUsable(answers []instanceTypes) {
	for _, types := range answers {
		for _, it := range types {
			it.Allocatable()
		}
	}
}

// A benchmark that measured nothing looks like a very fast one, so each ends by looking at what was served.

// expectOverlaid: all types of all pools carry an overlay's price, or none does.
func expectOverlaid(answers []instanceTypes, overlaid bool) error {
	for _, types := range answers {
		expected := 0
		if overlaid {
			expected = len(types)
		}
		if err := expectOverlaidTypes([]instanceTypes{types}, expected); err != nil {
			return err
		}
	}
	return nil
}

// expectOverlaidTypes: in each pool's answer exactly so many types carry an overlay's price.
func expectOverlaidTypes(answers []instanceTypes, expected int) error {
	for pool, types := range answers {
		overlaid := 0
		for _, it := range types {
			if it.IsPricingOverlayApplied() {
				overlaid++
			}
		}
		if overlaid != expected || len(types) == 0 {
			return fmt.Errorf("pool %d was served %d types, %d of them overlaid; expected %d", pool, len(types), overlaid, expected)
		}
	}
	return nil
}

// expectSoldOut: the one offering is unavailable in every pool's answer.
func expectSoldOut(answers []instanceTypes, offering int) error {
	for pool, types := range answers {
		if types[0].Offerings[offering].Available {
			return fmt.Errorf("pool %d still sees the offering that ran out", pool)
		}
	}
	return nil
}
