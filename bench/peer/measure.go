package main

// How things are measured, the same for every row.
//
// Time: a fixed number of untimed runs first, then the median of the timed ones. The collector is run before each
// timed run, outside the stopwatch, so that no run pays for the garbage of the one before it; collections that start
// within a run belong to it and count. The number of threads and the collector's settings are Go's defaults, which is
// what the peer ships with.
//
// Memory: live heap after collection, the difference between before and after. Freed memory the runtime has not yet
// returned to the system, thread stacks and the binary itself are left out. A process that is measured by its resident
// size from outside carries all of those, so for such a comparison use the rows called rss.

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

const megabyte = 1e6

type row struct {
	Row   string  `json:"row"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
}

func report(name, unit string, value float64) {
	line, err := json.Marshal(row{name, unit, value})
	if err != nil {
		panic(err) // only NaN and infinities cannot be written, and either is a mistake in this program
	}
	fmt.Println(string(line))
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

// medianSeconds runs prepare and timed warmUp+repeats times; only timed is under the stopwatch.
func medianSeconds(warmUp, repeats int, prepare, timed func()) float64 {
	seconds := make([]float64, 0, repeats)
	for i := range warmUp + repeats {
		prepare()
		runtime.GC()
		start := time.Now()
		timed()
		if took := time.Since(start).Seconds(); i >= warmUp {
			seconds = append(seconds, took)
		}
	}
	return median(seconds)
}

func median(seconds []float64) float64 {
	sorted := slices.Sorted(slices.Values(seconds))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// heapOf is the live heap, in megabytes, that exists because of what build returned.
func heapOf[T any](build func() T) float64 {
	before := liveHeap()
	kept := build()
	after := liveHeap()
	runtime.KeepAlive(kept)
	return (after - before) / megabyte
}

func liveHeap() float64 {
	runtime.GC()
	runtime.GC() // what a sync.Pool held goes only with the second collection
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// peakResident is the largest resident size of this process so far, in megabytes; 0 where the system does not tell.
// It reads the kernel's figure for this program's own memory: getrusage's would start from the peak of the process that
// started this one.
func peakResident() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kibibytes float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kibibytes); err == nil {
			return kibibytes * 1024 / megabyte
		}
	}
	return 0
}
