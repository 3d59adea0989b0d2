"""Pairs of results on Dask's scheduler and two workers, as dag/our-locality.mjs has it on ours.

    dask_locality.py FOLDER default|off JOB     prints one JSON object

With queuing off, tasks that need nothing go to workers at once, which is when Dask places those together that are needed together.
"""

import gc
import json
import logging
import os
import sys
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import distributed
from dask_cluster import cluster, end_with_parent, resident_bytes
from dask_shapes import add, make
from distributed.diagnostics.plugin import WorkerPlugin

REST_S = 1
SETTINGS = {"default": {}, "off": {"DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION": "inf"}}


class PeakHeld(WorkerPlugin):
    """What a worker has of results, at most."""

    def setup(self, worker):
        self.worker = worker
        self.worker.peak_held = 0

    def transition(self, key, start, finish, **_):
        self.worker.peak_held = max(self.worker.peak_held, self.worker.state.nbytes)


def main():
    end_with_parent()
    folder, queuing, job = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    with cluster(folder, job["workers"], **SETTINGS[queuing]) as (client, _):
        client.register_worker_plugin(PeakHeld())
        compute(client, job["warmUp"], 0, "warm")
        before, started_with = client.run(figures), at_rest(client)
        seconds, wrong = compute(client, job["nodes"], job["ms"] / 1000, "")
        left = at_rest(client) - started_with
        found = client.run(figures)
        ids = {node["id"] for node in job["nodes"]}
        made = [[key for key in of["made"] if key in ids] for of in found.values()]
        result = {
            "version": distributed.__version__,
            "seconds": seconds,
            "movedBytes": sum(of["moved"] - before[worker]["moved"] for worker, of in found.items()),
            "producers": [sum(key.startswith("make") for key in keys) for keys in made],
            "consumers": [sum(key.startswith("add") for key in keys) for keys in made],
            "peakHeldBytes": sum(of["peak"] for of in found.values()),
            "leftBytes": left,
            "wrong": wrong,
        }
    print(json.dumps(result))


def compute(client, nodes, seconds, prefix):
    graph = {prefix + node["id"]: call_of(node, seconds, prefix) for node in nodes}
    sums = {prefix + node["id"]: node["sum"] for node in nodes if "sum" in node}
    started = time.perf_counter()
    futures = client.get(graph, list(sums), sync=False)
    distributed.wait(futures)
    took = time.perf_counter() - started
    results = client.gather(futures)
    wrong = [f"{key} is {found}, not {sums[key]}" for key, found in zip(sums, results) if found != sums[key]]
    return took, wrong


def call_of(node, seconds, prefix):
    if "fill" in node:
        return (make, node["fill"], seconds)
    return (add, *(prefix + key for key in node["of"]), seconds)


def figures(dask_worker):
    """What came from others, and what was computed here."""
    received = {str(key) for entry in dask_worker.transfer_incoming_log for key in entry["keys"]}
    memory = [str(entry[0]) for entry in dask_worker.state.log if len(entry) > 2 and entry[1] == "put-in-memory"]
    return {
        "moved": sum(int(entry["total"]) for entry in dask_worker.transfer_incoming_log),
        "made": [key for key in dict.fromkeys(memory) if key not in received],
        "peak": dask_worker.peak_held,
    }


def at_rest(client):
    gc.collect()
    time.sleep(REST_S)
    client.run(gc.collect)
    return sum(resident_bytes(pid)[0] for pid in client.run(os.getpid).values())


if __name__ == "__main__":
    main()
