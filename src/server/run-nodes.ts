import { expansionIdOf, taskIdOf } from "../core/index.ts";
import type { Driver } from "../driver/index.ts";
import { speculationTag, taskSpecOf, type WireGraph } from "../graph/index.ts";
import type { NODE_STATUSES } from "../protocol/api-schemas.ts";
import { isEnded, type Run, type State, Status } from "../scheduler/index.ts";
import type { ListCursor, RunRow, ServiceStore, TaskLine } from "../store/index.ts";
import type { RunGraphs } from "./run-graphs.ts";
import { cursorOf } from "./task-lists.ts";

export type NodeStatus = (typeof NODE_STATUSES)[number];

/** Where nodes of a run stand: columns, for some of its nodes or for all. */
export interface RunNodesView {
  readonly run: RunRow;
  readonly now: number;
  /** All that is told is of before this event; undefined: nothing will change any more. */
  readonly seq: number | undefined;
  /** Undefined: all of them. */
  readonly nodes: readonly number[] | undefined;
  readonly columns: readonly NodeStanding[];
  /** Places are those among all nodes. */
  readonly tried: readonly TriedNode[];
  readonly added: readonly { readonly node: number; readonly runId: string }[];
}

export interface NodeStanding {
  status: NodeStatus;
  attempt: number;
  /** "": none. */
  worker: string;
  /** -1: not yet, or not known. */
  startedAt: number;
  endedAt: number;
  bytes: number;
  errorCode: string;
  errorMessage: string;
}

interface TriedNode {
  readonly node: number;
  readonly alternatives: number;
  readonly open: number;
  readonly winner: string | undefined;
}

const NODE_STATUS: Readonly<Record<Status, NodeStatus>> = {
  [Status.waiting]: "waiting",
  [Status.held]: "held",
  [Status.ready]: "ready",
  [Status.delayed]: "delayed",
  [Status.assigned]: "running",
  [Status.running]: "running",
  [Status.cancelling]: "running",
  [Status.settling]: "running",
  [Status.settlingCancel]: "running",
  [Status.completed]: "completed",
  [Status.failed]: "failed",
  [Status.cancelled]: "cancelled",
  [Status.skipped]: "skipped",
  [Status.speculating]: "running",
  [Status.expanded]: "running",
};

/** Rows that are read at once, so that nobody waits long for the others. */
const PAGE = 2_000;
/** Nodes that are looked at for what they added. */
const MOST_ADDED = 100;

/** Where the nodes of a run stand: as the state has them, with what only rows know of those that ended. */
export class RunNodes {
  readonly #driver: Pick<Driver, "read" | "timeOfDay">;
  readonly #store: Pick<ServiceStore, "tasks" | "run">;
  readonly #graphs: RunGraphs;

  constructor(
    driver: Pick<Driver, "read" | "timeOfDay">,
    store: Pick<ServiceStore, "tasks" | "run">,
    graphs: RunGraphs,
  ) {
    this.#driver = driver;
    this.#store = store;
    this.#graphs = graphs;
  }

  /** Those that changed after an event; without one, all. */
  async of(run: RunRow, after: number | undefined): Promise<RunNodesView | undefined> {
    const now = this.#driver.timeOfDay();
    const live = await this.#driver.read((state) => {
      const found = state.runById(run.id);
      return found && liveNodes(state, found, after);
    });
    if (!live) return this.#forgotten(run, now);
    const { places, seq, standings, ended, tried, dynamic } = live;
    await this.#fill(run, standings, ended, after !== undefined);
    const added = await this.#added(dynamic);
    const nodes = after === undefined ? undefined : places;
    return { run, now, seq, nodes, columns: [...standings.values()], tried, added };
  }

  /** Adds what rows say of nodes that ended. Where these are all there are, they are read in their own order. */
  async #fill(
    run: RunRow,
    standings: ReadonlyMap<number, NodeStanding>,
    ended: ReadonlyMap<string, number>,
    isSome: boolean,
  ): Promise<void> {
    if (ended.size === 0) return;
    const among = isSome ? [...ended.keys()] : undefined;
    for await (const line of this.#lines(run, among)) {
      const standing = standings.get(ended.get(line.id) ?? -1);
      if (standing) Object.assign(standing, rowOf(line), { status: standing.status, bytes: standing.bytes });
    }
  }

  /** The state has forgotten it, so it has ended, and its rows are all there is. */
  async #forgotten(run: RunRow, now: number): Promise<RunNodesView | undefined> {
    const graph = (await this.#graphs.of(run))?.graph;
    if (!graph) return undefined;
    const places = new Map(graph.ids.map((id, node) => [id, node]));
    const columns: NodeStanding[] = graph.ids.map(() => ({ ...UNKNOWN }));
    const tries = new Map<number, number>();
    const dynamic: Dynamic[] = [];
    for await (const line of this.#lines(run, undefined)) {
      const node = places.get(line.run?.node ?? "");
      if (node === undefined) continue;
      if (line.id !== taskIdOf(run.id, line.run?.node ?? "")) tries.set(node, (tries.get(node) ?? 0) + 1);
      else {
        columns[node] = rowOf(line);
        if (mayAdd(graph, node)) dynamic.push({ node, taskId: line.id, attempt: line.attempt });
      }
    }
    const tried = Array.from(tries, ([node, alternatives]) => ({
      node,
      alternatives,
      open: 0,
      winner: undefined,
    }));
    return { run, now, seq: undefined, nodes: undefined, columns, tried, added: await this.#added(dynamic) };
  }

  async *#lines({ id, zone }: RunRow, among: readonly string[] | undefined): AsyncGenerator<TaskLine> {
    for (let from = 0; among ? from < among.length : from === 0; from += PAGE) {
      const some = among && { among: among.slice(from, from + PAGE) };
      let after: ListCursor | undefined;
      do {
        const lines = await this.#store.tasks({ zone, runId: id, ...some }, after, PAGE);
        yield* lines;
        after = lines.length === PAGE ? cursorOf(lines.at(-1)) : undefined;
      } while (after);
    }
  }

  async #added(dynamic: readonly Dynamic[]): Promise<RunNodesView["added"]> {
    const runs = dynamic.slice(0, MOST_ADDED).map(async ({ node, taskId, attempt }) => {
      const runId = expansionIdOf(taskId, attempt);
      return (await this.#store.run(runId)) ? [{ node, runId }] : [];
    });
    return (await Promise.all(runs)).flat();
  }
}

/** A node whose task may have added others. */
interface Dynamic {
  readonly node: number;
  readonly taskId: string;
  readonly attempt: number;
}

const UNKNOWN: NodeStanding = {
  status: "unknown",
  attempt: 0,
  worker: "",
  startedAt: -1,
  endedAt: -1,
  bytes: 0,
  errorCode: "",
  errorMessage: "",
};

function liveNodes(state: State, run: Run, after = -1) {
  const places: number[] = [];
  const standings = new Map<number, NodeStanding>();
  /** By task. */
  const ended = new Map<string, number>();
  const dynamic: Dynamic[] = [];
  for (let node = 0; node < run.graph.size; node++) {
    if (run.lastSeqOf(node) <= after) continue;
    places.push(node);
    standings.set(node, standingOf(state, run, node));
    if (isEnded(run.statusOf(node))) ended.set(run.taskIdOf(node), node);
    if (run.taskOf(node).mayAdd && run.attemptOf(node) > 0)
      dynamic.push({ node, taskId: run.taskIdOf(node), attempt: run.attemptOf(node) });
  }
  const seq = run.outcome === undefined ? state.seq : undefined;
  return { places, seq, standings, ended, tried: triedIn(run), dynamic };
}

function standingOf(state: State, run: Run, node: number): NodeStanding {
  const status = run.statusOf(node);
  const name = NODE_STATUS[status];
  const worker = run.workerOf(node);
  const isEnd = isEnded(status);
  return {
    status: name,
    attempt: run.attemptOf(node),
    worker: worker >= 0 && (isEnd || name === "running") ? state.worker(worker).id : "",
    startedAt: name === "running" && status !== Status.cancelling ? state.timeOfDay(run.sinceOf(node)) : -1,
    endedAt: isEnd ? state.timeOfDay(run.sinceOf(node)) : -1,
    bytes: run.data ? (run.resultBytes[node] as number) : 0,
    errorCode: "",
    errorMessage: "",
  };
}

function triedIn({ speculations }: Run): TriedNode[] {
  return Array.from(speculations, ([node, { ends, outcome }]) => ({
    node,
    alternatives: ends.length,
    open: ends.filter((end) => end === undefined).length,
    winner: outcome && outcome.winner >= 0 ? speculationTag(outcome.winner) : undefined,
  }));
}

const SKIPPED = "skipped";

function rowOf({
  status,
  attempt,
  worker,
  startedAt,
  endedAt,
  errorCode,
  errorMessage,
}: TaskLine): NodeStanding {
  const isSkipped = status === "cancelled" && errorCode === SKIPPED;
  const name = isSkipped ? SKIPPED : status === "queued" ? "waiting" : status;
  return { status: name, attempt, worker, startedAt, endedAt, bytes: 0, errorCode, errorMessage };
}

function mayAdd({ specs, spec }: WireGraph, node: number): boolean {
  const wire = specs[spec[node] ?? -1];
  return wire !== undefined && taskSpecOf(wire).mayAdd !== undefined;
}
