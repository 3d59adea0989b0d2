#!/usr/bin/env python3
"""A worker with nothing but Python's standard library; docs/worker-protocol.md explains what it says.

    ORRERY_API_KEY=... python3 examples/worker.py
"""
import http.client, json, os, random, signal, socket, sys, threading, time, urllib.request, uuid
from concurrent.futures import ThreadPoolExecutor

SERVER = os.environ.get("ORRERY_URL", "http://127.0.0.1:2026")
KEY = os.environ.get("ORRERY_API_KEY") or sys.exit("set ORRERY_API_KEY to a key of the server")
SLOTS = 4
ID = f"python-{socket.gethostname()}-{os.getpid()}"
SESSION = uuid.uuid4().hex  # as long as it is the same, the server knows us after a broken connection

# A task gets its payload and an event that is set when it should stop; its result must be JSON.
TASKS = {
    "reverse": lambda payload, stop: payload["text"][::-1],
    "wait": lambda payload, stop: "interrupted" if stop.wait(payload["seconds"]) else "waited",
}

held = {}  # (task, attempt) -> its heartbeat entry and its stop event, until its report is acknowledged
settled = {}  # the last 10,000 (task, attempt) whose report was acknowledged: they never run again
draining = threading.Event()
TROUBLE = (OSError, http.client.HTTPException, ValueError)  # errors of HTTP are errors of the system here


def post(path, body, timeout=30):
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{SERVER}/worker/{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return json.load(answer)


def heartbeat():
    return {"attempts": [entry for entry, _ in list(held.values())]}


def register():
    registration = {"protocol": 1, "id": ID, "session": SESSION, "executors": ["default"],
                    "types": list(TASKS),
                    "cpu_millicores": 1000 * SLOTS, "memory_bytes": 2**30, "slots": SLOTS}
    while True:
        try:
            return post("register", {"registration": registration, "heartbeat": heartbeat()})
        except TROUBLE as error:
            if getattr(error, "code", 500) in (400, 401, 403, 404, 422):
                sys.exit(f"the server refuses this worker: {error.read().decode()}")
        time.sleep(random.uniform(0.5, 2))


def run(assignment, key):
    entry, stop = held[key]
    # Only a server that was restored from a backup assigns what is settled: it is given back, and gets another number.
    report = {"type": "returned" if key in settled else "cancelled", **entry}
    if key not in settled and not stop.is_set():
        entry["started_at"] = int(time.time() * 1000)
        limit = assignment["timeout_ms"] / 1000
        timer = threading.Timer(limit, stop.set) if limit else None
        timer and timer.start()
        try:
            result = TASKS[assignment["task_type"]](assignment["payload"], stop)
            report = {"type": "finished", **entry, "result": result}
        except Exception as error:
            unknown = assignment["task_type"] not in TASKS
            report = {"type": "failed", **entry, "code": "unknown-type" if unknown else "error",
                      "message": repr(error)[:1000], "retry": not unknown}
        timer and timer.cancel()
        if stop.is_set():  # by the server, or by the clock
            timed_out = limit and time.time() * 1000 - entry["started_at"] >= limit * 1000
            report = {"type": "timed_out" if timed_out else "cancelled", **entry}
    while True:  # until it is acknowledged
        try:
            post(f"{ID}/report", {"session": SESSION, "report": report})
            break
        except TROUBLE as error:
            if getattr(error, "code", 500) in (400, 413, 422):
                break  # it would never be taken
        time.sleep(1)  # meanwhile the poll below registers again
    settled[key] = True
    if len(settled) > 10_000:
        settled.pop(next(iter(settled)))
    del held[key]


def drain(*_):
    draining.set()
    threading.Thread(target=lambda: post(f"{ID}/drain", {"session": SESSION}), daemon=True).start()


signal.signal(signal.SIGTERM, drain)
signal.signal(signal.SIGINT, drain)
terms = register()
print(f"connected to {SERVER} as {ID}", flush=True)
with ThreadPoolExecutor(SLOTS) as threads:
    while held or not draining.is_set():
        wait = max(1, terms["heartbeat_ms"] // 1000)  # a poll is a heartbeat, so it must not wait for longer
        try:
            answer = post(f"{ID}/poll?wait={wait}", {"session": SESSION, "heartbeat": heartbeat()}, wait + 30)
        except TROUBLE:
            terms = register()
            continue
        # What comes twice in one answer must not run again when the first has ended meanwhile.
        assigned = {(each["task"], each["attempt"]): each for each in answer["assignments"]}
        for key, assignment in assigned.items():
            if key not in held and not draining.is_set():
                held[key] = ({"task": key[0], "attempt": key[1], "started_at": -1}, threading.Event())
                threads.submit(run, assignment, key)
        for name in answer["cancel"]:
            held.get((name["task"], name["attempt"]), (None, threading.Event()))[1].set()
        if answer["drain"]:
            draining.set()
            time.sleep(0.2)  # the server says it with each answer, and does not wait then
try:
    post(f"{ID}/leave", {"session": SESSION})
except TROUBLE:
    pass  # then the lease runs out
