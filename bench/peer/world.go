package main

// The peer, set up around one catalogue: a provider that answers with its types, NodePools and NodeOverlays behind a
// client, and the peer's own overlay controller, store and decorator between them. Everything that is measured past
// this file is the peer's code.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	kwokoptions "sigs.k8s.io/karpenter/kwok/options"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeoverlay"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

type instanceTypes = []*cloudprovider.InstanceType

// loadTypes is the peer's own loader of the kwok types file, and the first question for Allocatable, which the peer
// computes once per type and keeps. The file is read inside (it is in the page cache by then). The loader calls every
// offering available whatever the file says.
func loadTypes(path string) (instanceTypes, error) {
	ctx := kwokoptions.ToContext(context.Background(), &kwokoptions.Options{InstanceTypesFilePath: path})
	types, err := kwok.ConstructInstanceTypes(ctx)
	if err != nil {
		return nil, err
	}
	for _, it := range types {
		it.Allocatable()
	}
	return types, nil
}

// extraRequirements reads what a catalogue may say about a type beyond the kwok format: a list of requirements under
// "requirements", as a cloud's own provider would set. The peer's loader steps over them.
func extraRequirements(path string) (map[string][]corev1.NodeSelectorRequirement, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var entries []struct {
		Name         string                           `json:"name"`
		Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
	}
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, err
	}
	extra := make(map[string][]corev1.NodeSelectorRequirement, len(entries))
	for _, entry := range entries {
		extra[entry.Name] = entry.Requirements
	}
	return extra, nil
}

// loadLabelled is loadTypes with the extra requirements put on: the types every row but `load` is measured with. The
// extra labels are made well known, as each provider does with its own.
func loadLabelled(path string) (instanceTypes, error) {
	types, err := loadTypes(path)
	if err != nil {
		return nil, err
	}
	extra, err := extraRequirements(path)
	if err != nil {
		return nil, err
	}
	for _, it := range types {
		for _, r := range extra[it.Name] {
			it.Requirements.Add(scheduling.NewRequirement(r.Key, r.Operator, r.Values...))
			v1.WellKnownLabels.Insert(r.Key)
		}
	}
	return types, nil
}

// shelf answers GetInstanceTypes, the only question of a provider that is asked here; the rest is the kwok provider's.
//
// Each node class has a list of its own, built for it, because types depend on the class's settings (kubelet, images,
// disks, zones): the AWS provider (v1.14.1) keys its cache by these. Classes here are thus taken to differ in one of
// them; there, two that do not would share a list, which is what the rows called one_class show.
//
// As it stands it is the best provider the peer's interface allows: an answer is the list itself, and a shortage
// makes anew only what it names. With copying set it does what that AWS provider does on every call, which is
// to give every type out as a new struct, one level deep, with a new slice of its cached offerings; the cache keys,
// locks and lookups which that provider also needs for each type are left out.
type shelf struct {
	*kwok.CloudProvider
	lists   map[string]instanceTypes // by node class
	copying bool
}

func (s *shelf) GetInstanceTypes(_ context.Context, pool *v1.NodePool) ([]*cloudprovider.InstanceType, error) {
	list := s.lists[pool.Spec.Template.Spec.NodeClassRef.Name]
	if !s.copying {
		return list, nil
	}
	answer := make(instanceTypes, 0, len(list))
	for _, it := range list {
		answer = append(answer, withOfferings(it, slices.Clone(it.Offerings)))
	}
	return answer, nil
}

// runOut makes one offering of one type unavailable (or available again) in every class: a new offering, a new slice
// of offerings around it, a new type around that, a new list. Nothing handed out before is touched, since a scheduling
// pass may be reading it.
func (s *shelf) runOut(typeIndex, offeringIndex int, available bool) {
	for class, list := range s.lists {
		old := list[typeIndex]
		offering := *old.Offerings[offeringIndex]
		offering.Available = available
		offerings := slices.Clone(old.Offerings)
		offerings[offeringIndex] = &offering
		list = slices.Clone(list)
		list[typeIndex] = withOfferings(old, offerings)
		s.lists[class] = list
	}
}

func withOfferings(it *cloudprovider.InstanceType, offerings cloudprovider.Offerings) *cloudprovider.InstanceType {
	return &cloudprovider.InstanceType{
		Name:         it.Name,
		Requirements: it.Requirements,
		Offerings:    offerings,
		Capacity:     it.Capacity,
		Overhead:     it.Overhead,
	}
}

// world is the peer ready to serve a number of NodePools.
type world struct {
	ctx        context.Context
	client     client.Client
	shelf      *shelf
	served     cloudprovider.CloudProvider // the shelf behind the peer's overlay decorator
	controller *nodeoverlay.Controller
	pools      []*v1.NodePool
}

// newWorld spreads the pools evenly over the classes. The gate for overlays is on even when there is none, so that the
// same path is taken. The client is controller-runtime's in-memory one: no API server, no network.
func newWorld(path string, pools, classes int, overlays ...client.Object) (*world, error) {
	lists := map[string]instanceTypes{}
	for class := range min(classes, pools) {
		types, err := loadLabelled(path)
		if err != nil {
			return nil, err
		}
		lists[className(class)] = types
	}
	w := &world{
		ctx: options.ToContext(context.Background(), &options.Options{
			FeatureGates: options.FeatureGates{NodeOverlay: true},
		}),
		shelf: &shelf{lists: lists},
	}
	objects := overlays
	for i := range pools {
		pool := nodePool(i, className(i%classes))
		w.pools = append(w.pools, pool)
		objects = append(objects, pool)
	}
	w.client = fake.NewClientBuilder().WithScheme(scheme.Scheme).
		WithStatusSubresource(&v1alpha1.NodeOverlay{}).WithObjects(objects...).Build()
	w.shelf.CloudProvider = kwok.NewCloudProvider(w.ctx, w.client, nil)

	store := nodeoverlay.NewInstanceTypeStore()
	w.served = overlay.Decorate(w.shelf, w.client, store)
	cluster := state.NewCluster(clock.RealClock{}, w.client, w.served)
	w.controller = nodeoverlay.NewController(clock.RealClock{}, w.client, w.shelf, store, cluster)
	return w, w.evaluate()
}

// evaluate is one pass of the peer's overlay controller: it lists overlays and pools, asks the provider for each
// pool's types, finds conflicts, fills a new store, writes conditions that changed and swaps the store in.
func (w *world) evaluate() error {
	_, err := w.controller.Reconcile(w.ctx, reconcile.Request{})
	return err
}

// serve asks for every pool's types, one pool after the other as the peer's scheduler does, and holds all answers.
func (w *world) serve() ([]instanceTypes, error) {
	answers := make([]instanceTypes, 0, len(w.pools))
	for _, pool := range w.pools {
		answer, err := w.served.GetInstanceTypes(w.ctx, pool)
		if err != nil {
			return nil, fmt.Errorf("serving %s: %w", pool.Name, err)
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

func className(i int) string { return fmt.Sprintf("class-%02d", i) }

func nodePool(i int, class string) *v1.NodePool {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pool-%02d", i)}}
	pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{
		Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: class,
	}
	return pool
}

// priceOverlay adjusts the price of what the requirement selects.
func priceOverlay(adjustment string, requirement v1alpha1.NodeSelectorRequirement) *v1alpha1.NodeOverlay {
	return &v1alpha1.NodeOverlay{
		ObjectMeta: metav1.ObjectMeta{Name: "discount"},
		Spec: v1alpha1.NodeOverlaySpec{
			Requirements:    []v1alpha1.NodeSelectorRequirement{requirement},
			PriceAdjustment: &adjustment,
		},
	}
}

// overlayOnEveryType selects by a label that every type has.
func overlayOnEveryType() *v1alpha1.NodeOverlay {
	return priceOverlay("-10%", v1alpha1.NodeSelectorRequirement{
		Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpExists,
	})
}
