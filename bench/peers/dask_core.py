"""The cost of Dask's scheduling core alone, per task.

Drives distributed's SchedulerState in one process with workers that finish every task at once: the order of
the graph, the creation of its tasks and all their transitions, without sockets, serialisation or user code.
Written for distributed 2022.12 (Debian 12) and later.

    dask_core.py SHAPE SIZE WORKERS     prints one JSON object
"""

import gc
import inspect
import json
import logging
import operator
import os
import sys
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import distributed
from dask.order import order
from distributed.collections import HeapSet
from distributed.core import Status
from distributed.scheduler import ClientState, SchedulerState, WorkerState, _task_slots_available
from sortedcontainers import SortedDict

from dask_shapes import NEEDS, fingerprint, noop


class Scheduler(SchedulerState):
    """A subclass, as the real one is: SchedulerState has slots, and workers refer to it weakly."""


def main():
    shape, size, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    needs = NEEDS[shape](size)
    graph, dependencies, wanted = graph_of(needs)
    scheduler = scheduler_with(count)
    gc.collect()
    rss_before = rss_bytes()

    started = time.perf_counter()
    position = order(graph)
    client = create_tasks(scheduler, graph, dependencies, wanted, position)
    created = time.perf_counter()
    rss_created = rss_bytes()
    done = run_all(scheduler, wanted, position)
    ended = time.perf_counter()

    assert done == len(needs), (done, len(needs))
    assert client.wants_what
    print(
        json.dumps(
            {
                "version": distributed.__version__,
                "fingerprint": fingerprint(needs),
                "submitUs": (created - started) / len(needs) * 1e6,
                "totalUs": (ended - started) / len(needs) * 1e6,
                "waitingRssBytes": (rss_created - rss_before) / len(needs),
                "endRssBytes": (rss_bytes() - rss_before) / len(needs),
            }
        )
    )


def graph_of(needs):
    keys = [f"noop-{node}" for node in range(len(needs))]
    graph = {keys[node]: (noop, *(keys[need] for need in of)) for node, of in enumerate(needs)}
    dependencies = {keys[node]: [keys[need] for need in of] for node, of in enumerate(needs)}
    needed = {need for of in needs for need in of}
    wanted = [key for node, key in enumerate(keys) if node not in needed]
    try:
        # Since 2024.12 a graph holds objects in place of tuples.
        from dask._task_spec import convert_legacy_graph

        graph = convert_legacy_graph(graph)
    except ImportError:
        pass
    return graph, dependencies, wanted


def scheduler_with(count):
    parameters = inspect.signature(SchedulerState.__init__).parameters
    unrunnable = {} if "dict" in str(getattr(parameters.get("unrunnable"), "annotation", "")) else set()
    offered = {
        "aliases": {},
        "clients": {},
        "workers": SortedDict(),
        "host_info": {},
        "resources": {},
        "tasks": {},
        "unrunnable": unrunnable,
        "queued": HeapSet(key=operator.attrgetter("priority")),
        "validate": False,
    }
    scheduler = Scheduler(**{name: value for name, value in offered.items() if name in parameters})
    for number in range(count):
        worker = WorkerState(
            address=f"tcp://127.0.0.1:{40000 + number}",
            status=Status.running,
            pid=number,
            name=number,
            nthreads=1,
            memory_limit=0,
            local_directory="",
            nanny="",
            server_id=str(number),
            scheduler=scheduler,
        )
        scheduler.workers[worker.address] = worker
        scheduler.running.add(worker)
        scheduler.total_nthreads += 1
        if hasattr(scheduler, "total_nthreads_history"):
            scheduler.total_nthreads_history.append((time.time(), scheduler.total_nthreads))
    for worker in scheduler.workers.values():
        scheduler.check_idle_saturated(worker)
    return scheduler


def create_tasks(scheduler, graph, dependencies, wanted, position):
    client = ClientState("client")
    scheduler.clients["client"] = client
    tasks = {key: scheduler.new_task(key, work, "released") for key, work in graph.items()}
    for key, task in tasks.items():
        for dependency in dependencies[key]:
            task.add_dependency(tasks[dependency])
        task.priority = (0, 1, position[key])
    for key in wanted:
        task = tasks[key]
        if task.who_wants is None:
            task.who_wants = set()
        task.who_wants.add(client)
        client.wants_what.add(task)
    return client


def run_all(scheduler, wanted, position):
    to_memory = getattr(SchedulerState, "_transition_processing_memory", None)
    wants_type = to_memory is not None and "type" in inspect.signature(to_memory).parameters
    messages = {}
    first = {key: "waiting" for key in sorted(wanted, key=position.get, reverse=True)}
    scheduler._transitions(first, {}, messages, "update-graph")
    done = 0
    while True:
        given = [
            (worker, message["key"], message.get("run_id"))
            for worker, sent in messages.items()
            for message in sent
            if message["op"] == "compute-task"
        ]
        if not given:
            return done
        messages = {}
        now = time.time()
        for worker, key, run_id in given:
            report = {
                "worker": worker,
                "nbytes": 16,
                "typename": "NoneType",
                "startstops": [{"action": "compute", "start": now, "stop": now + 1e-6}],
            }
            if run_id is not None:
                report["run_id"] = run_id
            if wants_type:
                report["type"] = b""
            next_moves, _, sent = scheduler._transition(key, "memory", "task-finished", **report)
            for address, more in sent.items():
                messages.setdefault(address, []).extend(more)
            scheduler._transitions(next_moves, {}, messages, "task-finished")
            fill_slots(scheduler, messages)
            done += 1


def fill_slots(scheduler, messages):
    """What the real scheduler does with queued root tasks after every report."""
    if not scheduler.queued:
        return
    slots = sum(_task_slots_available(worker, scheduler.WORKER_SATURATION) for worker in scheduler.idle_task_count)
    if slots:
        moves = {task.key: "processing" for task in scheduler.queued.peekn(slots)}
        scheduler._transitions(moves, {}, messages, "slots")


def rss_bytes():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


main()
