package main

// A cluster's objects out of a file, and a client that lists them as the peer's own cache does.
//
// In a running peer Get and List are answered by controller-runtime's cache: by index where there is one, by looking at
// every object of the namespace where there is a label selector, and with a copy of each object that goes out. The fake
// client of the tests would turn every object to JSON and back for that, many times slower, so pods, nodes, pools and
// budgets are answered here; whatever else the peer asks for is answered by the fake one, which holds nothing.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

const longestLine = 1 << 20

type objects struct {
	pools   []*v1.NodePool
	nodes   []*corev1.Node
	claims  []*v1.NodeClaim
	pods    []*corev1.Pod
	budgets []*policyv1.PodDisruptionBudget
}

// readObjects reads a List that has one object a line.
func readObjects(path string) (*objects, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	found := &objects{}
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, longestLine), longestLine)
	for lines.Scan() {
		line := bytes.TrimSuffix(bytes.TrimSpace(lines.Bytes()), []byte(","))
		if !bytes.HasPrefix(line, []byte("{")) || bytes.HasSuffix(line, []byte("[")) {
			continue // the list around them
		}
		if err := found.take(line); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
	}
	return found, lines.Err()
}

func (o *objects) take(line []byte) error {
	kind := metav1.TypeMeta{}
	if err := json.Unmarshal(line, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "NodePool":
		return read(line, &o.pools)
	case "Node":
		return read(line, &o.nodes)
	case "NodeClaim":
		return read(line, &o.claims)
	case "Pod":
		return read(line, &o.pods)
	case "PodDisruptionBudget":
		return read(line, &o.budgets)
	}
	return fmt.Errorf("nobody here knows what a %q is", kind.Kind)
}

func read[T any](line []byte, into *[]*T) error {
	one := new(T)
	*into = append(*into, one)
	return json.Unmarshal(line, one)
}

type objectsClient struct {
	client.Client
	held        *objects
	nodes       map[string]*corev1.Node
	byNode      map[string][]*corev1.Pod
	byNamespace map[string][]*corev1.Pod
}

func newObjectsClient(held *objects) *objectsClient {
	c := &objectsClient{
		Client:      fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(),
		held:        held,
		nodes:       map[string]*corev1.Node{},
		byNode:      map[string][]*corev1.Pod{},
		byNamespace: map[string][]*corev1.Pod{},
	}
	for _, node := range held.nodes {
		c.nodes[node.Name] = node
	}
	for _, pod := range held.pods {
		c.byNode[pod.Spec.NodeName] = append(c.byNode[pod.Spec.NodeName], pod)
		c.byNamespace[pod.Namespace] = append(c.byNamespace[pod.Namespace], pod)
	}
	return c
}

func (c *objectsClient) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	node, asked := into.(*corev1.Node)
	if !asked {
		return c.Client.Get(ctx, key, into, opts...)
	}
	found, known := c.nodes[key.Name]
	if !known {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, key.Name)
	}
	found.DeepCopyInto(node)
	return nil
}

func (c *objectsClient) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	asked := client.ListOptions{}
	asked.ApplyOptions(opts)
	switch list := into.(type) {
	case *corev1.PodList:
		list.Items = c.pods(asked)
	case *corev1.NodeList:
		list.Items = copied(c.held.nodes)
	case *v1.NodePoolList:
		list.Items = copied(c.held.pools)
	case *policyv1.PodDisruptionBudgetList:
		list.Items = copied(c.held.budgets)
	default:
		return c.Client.List(ctx, into, opts...)
	}
	return nil
}

// pods: by the index of nodes where that is asked for, else by looking at every pod of the namespace, or of all.
func (c *objectsClient) pods(asked client.ListOptions) []corev1.Pod {
	among := c.held.pods
	if asked.FieldSelector != nil {
		if name, exact := asked.FieldSelector.RequiresExactMatch("spec.nodeName"); exact {
			among = c.byNode[name]
		}
	} else if asked.Namespace != "" {
		among = c.byNamespace[asked.Namespace]
	}
	if asked.LabelSelector == nil {
		return copied(among)
	}
	chosen := make([]*corev1.Pod, 0, len(among))
	for _, pod := range among {
		if asked.LabelSelector.Matches(labels.Set(pod.Labels)) {
			chosen = append(chosen, pod)
		}
	}
	return copied(chosen)
}

// deepCopier is what every object of the API can do.
type deepCopier[T any] interface {
	*T
	DeepCopyInto(*T)
}

func copied[T any, P deepCopier[T]](some []P) []T {
	found := make([]T, len(some))
	for i, one := range some {
		one.DeepCopyInto(&found[i])
	}
	return found
}
