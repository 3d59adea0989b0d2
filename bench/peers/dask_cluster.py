"""A scheduler and workers of Dask as processes of their own, and what they use."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time

READY_WITHIN_S = 60
PR_SET_PDEATHSIG = 1


def end_with_parent():
    """Whoever started this process is gone, even by kill -9: so is this."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def cluster(folder, workers, **settings):
    """Yields a client and the process of the scheduler."""
    from distributed import Client

    here = os.path.dirname(os.path.abspath(__file__))
    env = {**os.environ, "PYTHONPATH": here, "PYTHONWARNINGS": "ignore", "DASK_LOGGING__DISTRIBUTED": "error", **settings}
    address = os.path.join(folder, f"dask-{os.getpid()}.json")
    processes = []

    def start(module, *options):
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--scheduler-file", address, "--host", "127.0.0.1"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(
            [*command, "--no-dashboard", *options], env=env, cwd=folder, preexec_fn=end_with_parent, **quiet
        )
        processes.append(process)
        return process

    try:
        scheduler = start("dask_scheduler", "--port", "0", "--dashboard-address", ":0")
        until = time.monotonic() + READY_WITHIN_S
        while not os.path.exists(address):
            assert time.monotonic() < until and scheduler.poll() is None, "the scheduler did not start"
            time.sleep(0.05)
        for number in range(workers):
            own = ["--local-directory", folder, "--name", f"worker-{number}"]
            start("dask_worker", "--nthreads", "1", "--no-nanny", "--memory-limit", "0", *own)
        with Client(scheduler_file=address) as client:
            client.wait_for_workers(workers, timeout=READY_WITHIN_S)
            yield client, scheduler.pid
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def cpu_micros(pids):
    """Of all threads that there are, as in dag/proc.mjs."""
    nanos = 0
    for pid in pids:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as schedstat:
                nanos += int(schedstat.read().split()[0])
    return nanos / 1000


def resident_bytes(pid):
    """What it has now, and had at most."""
    found = {}
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            name, _, value = line.partition(":")
            if name in ("VmRSS", "VmHWM"):
                found[name] = 1024 * int(value.split()[0])
    return found["VmRSS"], found["VmHWM"]


def forget_peak(pid):
    with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as clear_refs:
        clear_refs.write("5")
