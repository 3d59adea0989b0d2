import { assignmentOf } from "../protocol/index.ts";
import type { Caller, WorkerGateway, WorkerSession, WorkerSink } from "../server/index.ts";
import { type Connection, ConnectionRefused, type Transport, type WorkerHost } from "../worker/index.ts";

type Registration = Parameters<Transport["connect"]>[0];

/** The way to a scheduler in the same process: no wire, the same rules. */
export class InProcessTransport implements Transport {
  readonly #gateway: WorkerGateway;
  readonly #caller: Caller;

  constructor(gateway: WorkerGateway, caller: Caller) {
    this.#gateway = gateway;
    this.#caller = caller;
  }

  async connect(registration: Registration, host: WorkerHost): Promise<Connection> {
    let close: (error: Error | undefined) => void = () => {};
    const closed = new Promise<Error | undefined>((resolve) => {
      close = resolve;
    });
    const sink: WorkerSink = {
      assign: (given) => host.assign(given.map(assignmentOf)),
      send: (message) => deliver(host, message),
      close: () => close(new Error("another worker took its place")),
    };
    const session = await this.#gateway.register(this.#caller, registration, host.heartbeat(), sink);
    if ("refused" in session) throw new ConnectionRefused(session.refused, session.message);
    return connection(registration.id, session, host, closed, () => close(undefined));
  }
}

function connection(
  worker: string,
  session: WorkerSession,
  host: WorkerHost,
  closed: Promise<Error | undefined>,
  close: () => void,
): Connection {
  const beat = setInterval(() => session.heartbeat(host.heartbeat()), session.heartbeatMs);
  void closed.then(() => clearInterval(beat));
  return {
    worker,
    leaseMs: session.leaseMs,
    closed,
    report: (reports) => session.report(reports),
    log: (entries) => session.log(entries),
    progress: (progress) => session.progress(progress),
    beat: () => session.heartbeat(host.heartbeat()),
    // What there is to hold began with the scheduler, in this process.
    chunks: () => {},
    drain: () => void session.drain().catch(() => {}),
    async leave() {
      await session.leave().catch(() => {});
      close();
    },
  };
}

function deliver(host: WorkerHost, message: Parameters<WorkerSink["send"]>[0]): void {
  if (message.type === "cancel") host.cancel(message.attempts);
  else if (message.type === "recall") host.recall(message.attempts);
  else if (message.type === "recharge") host.recharge(message.recharges);
  else if (message.type === "free") host.free(message.chunks);
  else if (message.type === "drain") host.drain();
}
