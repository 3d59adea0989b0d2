import { randomBytes } from "node:crypto";
import { availableParallelism, totalmem } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Computation,
  type ComputeOptions,
  OrreryClient,
  type ResultOf,
  type TaskGraph,
  type Wanted,
} from "../client/index.ts";
import { META_EXECUTOR, ownEnvironment, parseCpuMillicores, parseMemoryBytes } from "../protocol/index.ts";
import { makeLog, type RunningServer, startServer } from "../server/index.ts";
import { BUILT_IN_HANDLERS, shellCommand, tasksIn } from "../worker/index.ts";
import { startLocalWorker } from "./local-worker.ts";
import { WorkerProcesses } from "./worker-processes.ts";

export interface LocalOptions {
  /** A tasks file, by its path or URL; or what one exports, which then runs in this process. */
  readonly tasks: string | URL | Readonly<Record<string, unknown>>;
  /** How many worker processes, each of which computes one thing at a time; by default one for each core, but not more than 8. */
  readonly workers?: number;
  /** How many functions each has begun at a time, of which all but one wait for something; 4 by default. */
  readonly slots?: number;
  /** What the results on a worker may take of the memory, in bytes or as "512MiB"; the rest is on disk. 1 GiB by default. */
  readonly memory?: number | string;
  /** What workers serve beside `default` and `local`, and can do. */
  readonly executors?: readonly string[];
  readonly capabilities?: readonly string[];
  /** Where worker processes are, and shell commands run; by default where this process is. */
  readonly cwd?: string;
}

export interface LocalOrrery extends AsyncDisposable {
  /** The results of nodes of a graph. Throws `NodeFailed` where one of them fails. */
  compute<const Nodes extends Wanted>(
    graph: TaskGraph,
    wanted: Nodes,
    options?: ComputeOptions,
  ): Promise<ResultOf<Nodes>>;
  /** The same, without waiting. */
  start<const Nodes extends Wanted>(
    graph: TaskGraph,
    wanted: Nodes,
    options?: ComputeOptions,
  ): Promise<Computation<Nodes>>;
  /** For everything else that a service does. */
  readonly client: OrreryClient;
  /** For other clients on this machine. */
  readonly address: { readonly url: string; readonly key: string };
  /** The names of what its workers can run. */
  readonly tasks: readonly string[];
  /** What still runs is told to stop. The same as disposing of it. */
  close(): Promise<void>;
}

const OPTIONS: Readonly<Record<keyof LocalOptions, true>> = {
  tasks: true,
  workers: true,
  slots: true,
  memory: true,
  executors: true,
  capabilities: true,
  cwd: true,
};

const MOST_WORKERS = 8;
const DEFAULT_SLOTS = 4;
/** Who computes for long says nothing meanwhile, and who dies is noticed without that. */
const LEASE_MS = 600_000;

/**
 * Computes graphs on this machine, without a service: the scheduler is in this process and remembers nothing, workers are
 * processes of their own, or in this one.
 */
export async function local(options: LocalOptions): Promise<LocalOrrery> {
  check(options);
  memoryOf(options);
  const warn = (message: string): void => process.emitWarning(message, "OrreryWarning");
  const key = `sk-${randomBytes(32).toString("base64url")}`;
  const server = await startLocally(key, warn);
  const workers = await startWorkers(options, server, key, warn).catch(async (error: unknown) => {
    await server[Symbol.asyncDispose]();
    throw error;
  });
  let closed: Promise<void> | undefined;
  const client = new OrreryClient({
    url: server.url,
    key,
    // Its server does not come back: what waits for it ends.
    onRetry: () => {
      if (closed) throw new Error("this local Orrery was closed before it had computed that");
    },
  });
  const end = async (): Promise<void> => {
    await workers[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  };
  const close = (): Promise<void> => {
    closed ??= end();
    return closed;
  };
  const refuse = (graph: TaskGraph, wanted: Wanted): void => {
    // Its client would look for a server that is gone.
    if (closed) throw new Error("this local Orrery is closed; compute before close(), or start another");
    refuseUnknown(graph, wanted, workers.tasks, abilities);
  };
  const abilities = abilitiesOf(options);
  return {
    client,
    address: { url: server.url, key },
    tasks: workers.tasks,
    async compute(graph, wanted, options) {
      refuse(graph, wanted);
      return await client.compute(graph, wanted, options);
    },
    async start(graph, wanted, options) {
      refuse(graph, wanted);
      return await client.start(graph, wanted, options);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Workers extends AsyncDisposable {
  readonly tasks: readonly string[];
}

interface Abilities {
  readonly executors: readonly string[];
  readonly capabilities: readonly string[];
}

/** Beside what those of `orrery worker` have. */
function abilitiesOf({ executors = [], capabilities = [] }: LocalOptions): Abilities {
  return { executors: [...new Set(["default", "local", META_EXECUTOR, ...executors])], capabilities };
}

function startLocally(apiKey: string, warn: (message: string) => void): Promise<RunningServer> {
  return startServer({
    host: "127.0.0.1",
    port: 0,
    strictPort: true,
    store: "memory",
    // Nothing is written: neither a store nor a key.
    dataDir: "",
    apiKey,
    version: "local",
    settings: { config: { fairShare: null }, leaseMs: LEASE_MS },
    log: makeLog({ level: "warn", isHuman: true, write: (line) => warn(line.trimEnd()) }),
    onFailed: (error) => warn(`the scheduler has stopped: ${error.message}`),
  });
}

async function startWorkers(
  options: LocalOptions,
  server: RunningServer,
  key: string,
  warn: (message: string) => void,
): Promise<Workers> {
  const { tasks, workers, slots = DEFAULT_SLOTS, cwd } = options;
  if (typeof tasks === "object" && !(tasks instanceof URL)) return startHere(tasks, options, server);
  const file = tasks instanceof URL || tasks.startsWith("file:") ? fileURLToPath(tasks) : resolve(tasks);
  const count = workers ?? Math.min(availableParallelism(), MOST_WORKERS);
  const processes = new WorkerProcesses(warn);
  const starts = Array.from({ length: count }, (_, at) =>
    processes.start({
      id: `local-${at + 1}`,
      url: server.url,
      key,
      tasks: file,
      slots,
      memoryBytes: memoryOf(options),
      cwd: cwd ?? process.cwd(),
      ...abilitiesOf(options),
    }),
  );
  try {
    await Promise.all(starts);
  } catch (error) {
    await processes[Symbol.asyncDispose]();
    throw error;
  }
  return processes;
}

function startHere(
  exported: Readonly<Record<string, unknown>>,
  options: LocalOptions,
  { service }: RunningServer,
): Workers {
  const handlers = { command: shellCommand, ...tasksIn(exported) };
  if (!service) throw new Error("the scheduler has not begun");
  const { slots = DEFAULT_SLOTS } = options;
  const memoryBytes = memoryOf(options);
  const worker = startLocalWorker(service.gateway, {
    handlers,
    ...abilitiesOf(options),
    zone: "default",
    slots,
    environment: ownEnvironment(process.env),
    data: { ...(memoryBytes !== undefined && { memoryBytes }) },
  });
  return {
    tasks: Object.keys({ ...BUILT_IN_HANDLERS, ...handlers }),
    [Symbol.asyncDispose]: () => worker.stop(),
  };
}

/** On a service a worker may come that can run it; here none will. */
function refuseUnknown(
  graph: TaskGraph,
  wanted: Wanted,
  known: readonly string[],
  { executors, capabilities }: Abilities,
): void {
  const { nodes } = graph.toGraphFile(wanted) as { readonly nodes: Readonly<Record<string, LocalNode>> };
  const names = new Set(known);
  for (const [id, node] of Object.entries(nodes)) {
    const { task, executor = "default", capabilities: needed = [] } = node;
    const missing = needed.find((name) => !capabilities.includes(name));
    if (!names.has(task))
      throw new TypeError(`${id}: there is no task ${JSON.stringify(task)}; there are ${known.join(", ")}`);
    if (!executors.includes(executor) || missing !== undefined)
      throw new TypeError(
        `${id}: no worker here serves ${JSON.stringify(missing ?? executor)}; give local its executors and capabilities`,
      );
    const { cpu = 0, memory = 0 } = node.resources ?? {};
    const lacking = lackingHere(parseCpuMillicores(cpu), parseMemoryBytes(memory));
    if (lacking !== undefined) throw new TypeError(`${id}: it needs ${lacking}`);
  }
}

/** Of what a node needs, what no worker has: each has all that the machine has. Other than numbers, the server refuses. */
export function lackingHere(millicores: unknown, bytes: unknown): string | undefined {
  const cores = availableParallelism();
  if (typeof millicores === "number" && millicores > 1000 * cores)
    return `${millicores / 1000} cores, and this machine has ${cores}`;
  if (typeof bytes === "number" && bytes > totalmem())
    return `${gibibytes(bytes)} of memory, and this machine has ${gibibytes(totalmem())}`;
  return undefined;
}

function gibibytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}

interface LocalNode {
  readonly task: string;
  readonly resources?: { readonly cpu?: unknown; readonly memory?: unknown };
  readonly executor?: string;
  readonly capabilities?: readonly string[];
}

function check(options: LocalOptions): void {
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(OPTIONS, key));
  if (unknown !== undefined)
    throw new TypeError(
      `local has no option ${JSON.stringify(unknown)}; there are ${Object.keys(OPTIONS).join(", ")}`,
    );
  const { tasks, workers, slots } = options;
  if (typeof tasks !== "string" && (typeof tasks !== "object" || tasks === null))
    throw new TypeError(
      'tasks must be the path or URL of a tasks file, such as "./tasks.js", or what it exports',
    );
  for (const [name, value] of Object.entries({ workers, slots })) {
    if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) continue;
    throw new TypeError(`${name} must be a whole number from 1 on; got ${String(value)}`);
  }
}

function memoryOf({ memory }: LocalOptions): number | undefined {
  if (memory === undefined) return undefined;
  const bytes = parseMemoryBytes(memory);
  if (typeof bytes === "number") return bytes;
  throw new TypeError(`memory ${bytes.refusal}`);
}
