"""A graph of no-ops on Dask's scheduler and workers, each a process of its own, as dag/client.mjs has it on ours.

    dask_graphs.py FOLDER SHAPE SIZE WARM_UP_MS WORKERS     prints one JSON object
"""

import gc
import json
import logging
import os
import statistics
import sys
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import distributed
from dask_cluster import cluster, cpu_micros, end_with_parent, forget_peak, resident_bytes
from dask_shapes import NEEDS, fingerprint, noop

WARM_UP = 1_000
REST_S = 0.5
# As in dag/client.mjs.
SMALL = 1_000
TIMES_SMALL = 5


def main():
    end_with_parent()
    folder, shape, *numbers = sys.argv[1:]
    size, warm_up_ms, workers = map(int, numbers)
    needs = NEEDS[shape](size)
    count = len(needs)
    with cluster(folder, workers) as (client, scheduler):
        pids = list(client.run(os.getpid).values())
        warm = NEEDS[shape](WARM_UP)
        warm_at = time.perf_counter() + warm_up_ms / 1000
        distributed.wait(client.get(*graph_of(warm, "warm"), sync=False))
        turn = 0
        while time.perf_counter() < warm_at:
            turn += 1
            distributed.wait(client.get(*graph_of(warm, f"warm{turn}"), sync=False))
        found = []
        while len(found) < (1 if size > SMALL else TIMES_SMALL):
            gc.collect()
            client.run_on_scheduler(gc.collect)
            time.sleep(REST_S)
            found.append(once(client, graph_of(needs, f"noop{len(found)}"), count, scheduler, pids))
        result = {
            "version": distributed.__version__,
            "fingerprint": fingerprint(needs),
            "count": count,
            **{name: statistics.median(one[name] for one in found) for name in found[0]},
            "completed": min(one["completed"] for one in found),
        }
    print(json.dumps(result))


def once(client, graph, count, scheduler, workers):
    _, wanted = graph
    forget_peak(scheduler)
    before, _ = resident_bytes(scheduler)
    cpu_before = [cpu_micros(of) for of in ([scheduler], workers, [os.getpid()])]
    started = time.perf_counter()
    futures = client.get(*graph, sync=False)
    submitted = time.perf_counter()
    distributed.wait(futures)
    ended = time.perf_counter()
    now, peak = resident_bytes(scheduler)
    cpu = [cpu_micros(of) - was for of, was in zip(([scheduler], workers, [os.getpid()]), cpu_before)]
    finished = sum(future.status == "finished" for future in futures)
    return {
        # Of the others nothing is heard, but without them these could not have finished.
        "completed": count if finished == len(wanted) else finished,
        "usPerTask": (ended - started) / count * 1e6,
        "submitUs": (submitted - started) / count * 1e6,
        "serverCpuUs": cpu[0] / count,
        "workersCpuUs": cpu[1] / count,
        "clientCpuUs": cpu[2] / count,
        "peakBytes": (peak - before) / count,
        "endBytes": (now - before) / count,
    }


def graph_of(needs, prefix):
    keys = [f"{prefix}-{node}" for node in range(len(needs))]
    graph = {keys[node]: (noop, *(keys[need] for need in of)) for node, of in enumerate(needs)}
    needed = {need for of in needs for need in of}
    return graph, [key for node, key in enumerate(keys) if node not in needed]


if __name__ == "__main__":
    main()
