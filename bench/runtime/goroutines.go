// What goroutines cost, measured as the fibers are: prints one number.
//
//	goroutines switch FIBERS EACH     nanoseconds of CPU time for one Gosched, on one processor
//	goroutines spawn SPAWNS AT_ONCE   for one that is started and waited for, so many at a time
//	goroutines memory COUNT           resident bytes of each that waits
//	goroutines forkjoin DEPTH WIDTH LEAF_US RUNS   how many times as fast on two processors as one leaf after the other
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	args := numbers(os.Args[2:])
	runtime.GOMAXPROCS(1)
	switch os.Args[1] {
	case "switch":
		fmt.Println(switching(args[0], args[1]))
	case "spawn":
		spawning(args[0], args[1])
		fmt.Println(spawning(args[0], args[1]))
	case "memory":
		fmt.Println(memory(args[0]))
	case "forkjoin":
		runtime.GOMAXPROCS(2)
		fmt.Println(forkJoin(args[0], args[1], args[2], args[3]))
	}
}

func numbers(texts []string) []int {
	found := make([]int, len(texts))
	for at, text := range texts {
		found[at], _ = strconv.Atoi(text)
	}
	return found
}

func cpuNs() int64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func switching(fibers, each int) float64 {
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	ready.Add(fibers)
	done.Add(fibers)
	for at := 0; at < fibers; at++ {
		go func() {
			ready.Done()
			<-begin
			for turn := 0; turn < each; turn++ {
				runtime.Gosched()
			}
			done.Done()
		}()
	}
	ready.Wait()
	started := cpuNs()
	close(begin)
	done.Wait()
	return float64(cpuNs()-started) / float64(fibers*each)
}

func spawning(spawns, atOnce int) float64 {
	started := cpuNs()
	for at := 0; at < spawns; at += atOnce {
		var group sync.WaitGroup
		group.Add(atOnce)
		for one := 0; one < atOnce; one++ {
			go group.Done()
		}
		group.Wait()
	}
	return float64(cpuNs()-started) / float64(spawns)
}

func memory(count int) float64 {
	var ready sync.WaitGroup
	block := make(chan struct{})
	before := residentBytes()
	ready.Add(count)
	for at := 0; at < count; at++ {
		go func() {
			ready.Done()
			<-block
		}()
	}
	ready.Wait()
	return float64(residentBytes()-before) / float64(count)
}

func residentBytes() int {
	statm, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.Atoi(strings.Fields(string(statm))[1])
	return pages * os.Getpagesize()
}

func forkJoin(depth, width, leafUs, runs int) float64 {
	iterations := iterationsFor(leafUs)
	leaves := 1
	for level := 0; level < depth; level++ {
		leaves *= width
	}
	alone, together := time.Duration(1<<62), time.Duration(1<<62)
	for run := 0; run < runs; run++ {
		alone = least(alone, func() {
			for leaf := 0; leaf < leaves; leaf++ {
				burn(iterations)
			}
		})
		together = least(together, func() { tree(depth, width, iterations) })
	}
	return float64(alone) / float64(together)
}

func iterationsFor(us int) int {
	best := time.Duration(1 << 62)
	for round := 0; round < 50; round++ {
		best = least(best, func() { burn(100_000) })
	}
	return int(100_000 * float64(us) * 1_000 / float64(best))
}

func least(best time.Duration, work func()) time.Duration {
	started := time.Now()
	work()
	if took := time.Since(started); took < best {
		return took
	}
	return best
}

func tree(depth, width, iterations int) {
	if depth == 0 {
		burn(iterations)
		return
	}
	var group sync.WaitGroup
	group.Add(width)
	for child := 0; child < width; child++ {
		go func() {
			tree(depth-1, width, iterations)
			group.Done()
		}()
	}
	group.Wait()
}

//go:noinline
func burn(iterations int) uint32 {
	state := uint32(1)
	for at := 0; at < iterations; at++ {
		state = state*1_664_525 + 1_013_904_223
	}
	return state
}
