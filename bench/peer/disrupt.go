package main

// `peer disrupt`: how long the peer takes to judge one node of a cluster for single-node consolidation.
//
// The file's objects stand behind a client (objects.go) and in the peer's cluster state, put there by the peer's own
// methods. Its candidates are made once, by its own rules. Then its single-node method is asked about one candidate
// after the other, as its own loop would; the candidates are taken evenly from all of them until the time is up, since
// the whole pass takes many minutes. A command that is found is accepted without the fifteen seconds of validation.
//
// Left out in the peer's favour: reading the file, filling the cluster state, making the candidates (row `candidates_s`,
// which its loop repeats for each method of each pass), and events and logs, which go nowhere.

import (
	"context"
	"errors"
	"flag"
	"slices"
	"time"

	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/options"
)

// stride is a prime, so that steps of it meet every candidate once whatever their number (it is no multiple of it).
const stride = 7919

type accepting struct{}

func (accepting) Validate(_ context.Context, cmd disruption.Command, _ time.Duration) (disruption.Command, error) {
	return cmd, nil
}

type disruptBench struct {
	ctx        context.Context
	cluster    *state.Cluster
	method     *disruption.SingleNodeConsolidation
	candidates []*disruption.Candidate
	budgets    map[string]int
}

func runDisrupt(args []string) error {
	flags := flag.NewFlagSet("disrupt", flag.ContinueOnError)
	types := flags.String("types", "", "instance types, a JSON file in the kwok provider's format")
	cluster := flags.String("cluster", "", "the cluster, a List with one object a line")
	limit := flags.Duration("limit", time.Minute, "how long to go on judging nodes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *types == "" || *cluster == "" {
		return errors.New("--types and --cluster are needed")
	}
	sold, err := loadTypes(*types)
	if err != nil {
		return err
	}
	held, err := readObjects(*cluster)
	if err != nil {
		return err
	}
	b, err := newDisruptBench(sold, held)
	if err != nil {
		return err
	}
	return b.run(*limit)
}

func newDisruptBench(sold instanceTypes, held *objects) (*disruptBench, error) {
	ctx := options.ToContext(injection.WithControllerName(context.Background(), "disruption"), &options.Options{
		CPURequests:       1000 * concurrency,
		PreferencePolicy:  options.PreferencePolicyRespect,
		MinValuesPolicy:   options.MinValuesPolicyStrict,
		IgnoreDRARequests: true,
		FeatureGates:      options.FeatureGates{ReservedCapacity: true},
	})
	c := newObjectsClient(held)
	provider := kwok.NewCloudProvider(ctx, c, sold)
	recorder := events.NewRecorder(&record.FakeRecorder{})
	clk := clock.RealClock{}
	cluster := state.NewCluster(clk, c, provider)
	progress("disrupt: filling the cluster state with %d nodes, %d pods", len(held.nodes), len(held.pods))
	for _, claim := range held.claims {
		cluster.UpdateNodeClaim(claim)
	}
	for _, node := range held.nodes {
		if err := cluster.UpdateNode(ctx, node); err != nil {
			return nil, err
		}
	}
	for _, pod := range held.pods {
		if err := cluster.UpdatePod(ctx, pod); err != nil {
			return nil, err
		}
	}
	provisioner := provisioning.NewProvisioner(c, recorder, provider, cluster, clk, nil, nil)
	queue := disruption.NewQueue(c, recorder, cluster, clk, provisioner)
	shared := disruption.MakeConsolidation(clk, cluster, c, provisioner, provider, recorder, queue)
	method := disruption.NewSingleNodeConsolidation(shared, disruption.WithValidator(accepting{}))
	b := &disruptBench{ctx: ctx, cluster: cluster, method: method, budgets: map[string]int{}}
	for _, pool := range held.pools {
		b.budgets[pool.Name] = len(held.nodes)
	}
	var err error
	report("candidates_s", "s", medianSeconds(0, 1, func() {}, func() {
		b.candidates, err = disruption.GetCandidates(
			ctx, cluster, c, recorder, clk, provider, method.ShouldDisrupt, method.Class(), queue,
		)
	}))
	return b, err
}

// run reports
//
//   - candidates   how many nodes its rules leave to be judged
//   - judged       how many of them were, within the limit; all_judged is 1 if that was all of them
//   - per_node     seconds for one of those, the mean; per_node_median and per_node_slowest beside it
//   - found        how many of those judged it would remove or replace
//   - peak_rss     megabytes, of the whole process at its peak (Linux only)
func (b *disruptBench) run(limit time.Duration) error {
	if len(b.candidates) == 0 {
		return errors.New("no node of the cluster is a candidate")
	}
	b.method.SortCandidates(b.ctx, b.candidates)
	progress("disrupt: %d candidates, judging for %s", len(b.candidates), limit)
	seconds, found, total := []float64{}, 0, 0.0
	for i := range b.candidates {
		one := b.candidates[i*stride%len(b.candidates)]
		b.cluster.MarkUnconsolidated() // or the method would take its own answer to the last candidate for all of them
		start := time.Now()
		commands, err := b.method.ComputeCommands(b.ctx, b.budgets, one)
		took := time.Since(start).Seconds()
		if err != nil {
			return err
		}
		seconds, found, total = append(seconds, took), found+len(commands), total+took
		if total > limit.Seconds() {
			break
		}
	}
	slices.Sort(seconds)
	report("candidates", "count", float64(len(b.candidates)))
	report("judged", "count", float64(len(seconds)))
	report("per_node", "s", total/float64(len(seconds)))
	report("per_node_median", "s", median(seconds))
	report("per_node_slowest", "s", seconds[len(seconds)-1])
	report("found", "count", float64(found))
	report("peak_rss", "MB", peakResident())
	return nil
}
