package main

// `peer schedule`: how fast the peer plans pods that wait, and what its plan would buy.
//
// One empty cluster, one NodePool, the types and pods of the files. The scheduler is made with the peer's own
// constructors and asked once; for the next run everything but the types and pods is made anew, since a scheduler that
// has been asked keeps the nodes it planned.
//
// Under the stopwatch is Solve alone, which is what the peer's own benchmark times. Left out in its favour: reading the
// files, building types, counting topologies and building the scheduler (row `setup` shows the latter two). Our side is
// timed from values to plan, its compilation included.
//
// No limit is set on the NodePool, which spares the peer the bookkeeping of what is left of it. Candidates are looked
// at by five goroutines, the number the peer's own benchmark sets.

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/options"
)

const concurrency = 5

type scheduleBench struct {
	types       instanceTypes
	pods        []*corev1.Pod
	preferences string
	minValues   int
	repeats     int
	limit       time.Duration
}

func runSchedule(args []string) error {
	flags := flag.NewFlagSet("schedule", flag.ContinueOnError)
	types := flags.String("types", "", "instance types, a JSON file in the kwok provider's format")
	pods := flags.String("pods", "", "pods to plan, a JSON list")
	b := scheduleBench{}
	flags.StringVar(&b.preferences, "preferences", "Respect", "Respect or Ignore")
	flags.IntVar(&b.minValues, "min-values", 0, "how many instance types a node must be left with; 0 for no such demand")
	flags.IntVar(&b.repeats, "repeat", 1, "how many runs the median is taken of")
	flags.DurationVar(&b.limit, "limit", 0, "give a run up after this long; 0 lets it take its time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *types == "" || *pods == "" || b.repeats < 1 || (b.preferences != "Respect" && b.preferences != "Ignore") {
		return errors.New("--types and --pods are needed, --repeat is at least 1, --preferences is Respect or Ignore")
	}
	var err error
	if b.types, err = loadTypes(*types); err != nil {
		return err
	}
	raw, err := os.ReadFile(*pods)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &b.pods); err != nil {
		return fmt.Errorf("reading %s: %w", *pods, err)
	}
	return b.run()
}

// run reports
//
//   - solve        seconds, the median; the rows below are of the last run
//   - pods_per_s   all pods, whether they found a node or not, by that time
//   - setup        seconds to count topologies and build the scheduler, which is not in solve
//   - scheduled, failed   how many pods did and did not find a node
//   - nodes        how many nodes would be bought
//   - price        what they would cost an hour: each at the cheapest row left to it that can be launched
//   - cut_off      instead of all of these, the seconds after which a run was given up
func (b scheduleBench) run() error {
	solving, setups := make([]float64, 0, b.repeats), make([]float64, 0, b.repeats)
	var plan scheduling.Results
	for i := range b.repeats {
		progress("schedule: %d pods, %d types, run %d of %d", len(b.pods), len(b.types), i+1, b.repeats)
		ctx, cancel := b.context()
		defer cancel()
		solved := false
		var failure error
		var scheduler *scheduling.Scheduler
		setups = append(setups, medianSeconds(0, 1, func() {}, func() { scheduler, failure = b.scheduler(ctx) }))
		if failure != nil {
			return failure
		}
		seconds := medianSeconds(0, 1, func() {}, func() {
			plan, failure = scheduler.Solve(ctx, b.pods)
			solved = failure == nil
		})
		if errors.Is(failure, context.DeadlineExceeded) {
			progress("  given up after %.0f s", seconds)
			report("cut_off", "s", b.limit.Seconds())
			return nil
		}
		if !solved {
			return failure
		}
		solving = append(solving, seconds)
	}
	return b.tell(median(solving), median(setups), plan)
}

func (b scheduleBench) context() (context.Context, context.CancelFunc) {
	ctx := options.ToContext(injection.WithControllerName(context.Background(), "provisioner"), &options.Options{
		CPURequests:       1000 * concurrency,
		PreferencePolicy:  options.PreferencePolicy(b.preferences),
		MinValuesPolicy:   options.MinValuesPolicyStrict,
		IgnoreDRARequests: true,
		FeatureGates:      options.FeatureGates{ReservedCapacity: true},
	})
	if b.limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, b.limit)
}

// scheduler is what the peer's provisioner builds for each batch: the same options, given as it gives them.
func (b scheduleBench) scheduler(ctx context.Context) (*scheduling.Scheduler, error) {
	pool := nodePool(0, className(0))
	if b.minValues > 0 {
		pool.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{
			Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: &b.minValues,
		}}
	}
	opts := []scheduling.Options{
		scheduling.DisableReservedCapacityFallback,
		scheduling.NumConcurrentReconciles(concurrency),
		scheduling.MinValuesPolicy(options.MinValuesPolicyStrict),
	}
	if b.preferences == "Ignore" {
		opts = append(opts, scheduling.IgnorePreferences)
	}
	client := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	provider := &shelf{
		CloudProvider: kwok.NewCloudProvider(ctx, client, b.types),
		lists:         map[string]instanceTypes{className(0): b.types},
	}
	pools, sold := []*v1.NodePool{pool}, map[string][]*cloudprovider.InstanceType{pool.Name: b.types}
	cluster := state.NewCluster(clock.RealClock{}, client, provider)
	topology, err := scheduling.NewTopology(ctx, client, cluster, nil, pools, sold, b.pods, opts...)
	if err != nil {
		return nil, fmt.Errorf("counting topologies: %w", err)
	}
	recorder := events.NewRecorder(&record.FakeRecorder{})
	return scheduling.NewScheduler(
		ctx, client, pools, cluster, nil, topology, sold, nil, recorder, clock.RealClock{}, nil, nil, opts...,
	), nil
}

func (b scheduleBench) tell(solve, setup float64, plan scheduling.Results) error {
	scheduled, total := 0, 0.0
	for _, claim := range plan.NewNodeClaims {
		price, err := cheapest(claim)
		if err != nil {
			return err
		}
		scheduled += len(claim.Pods)
		total += price
	}
	if scheduled+len(plan.PodErrors) != len(b.pods) {
		return fmt.Errorf("%d pods scheduled and %d failed, of %d", scheduled, len(plan.PodErrors), len(b.pods))
	}
	report("solve", "s", solve)
	report("pods_per_s", "pods/s", float64(len(b.pods))/solve)
	report("setup", "s", setup)
	report("scheduled", "count", float64(scheduled))
	report("failed", "count", float64(len(plan.PodErrors)))
	report("nodes", "count", float64(len(plan.NewNodeClaims)))
	report("price", "$/h", total)
	return nil
}

// cheapest is what a claim costs if it is launched as cheaply as what it asks allows, by the peer's own filters.
func cheapest(claim *scheduling.NodeClaim) (float64, error) {
	least := math.Inf(1)
	for _, it := range claim.InstanceTypeOptions {
		if rows := it.Offerings.Launchable().Compatible(claim.Requirements); len(rows) > 0 {
			least = min(least, rows.Cheapest().Price)
		}
	}
	if math.IsInf(least, 1) {
		return 0, fmt.Errorf("a claim with %d pods has no row to be launched by", len(claim.Pods))
	}
	return least, nil
}
