import { createHmac } from "node:crypto";
import { addressesOf, HolderAddresses, isLoopback } from "../chunks/index.ts";
import { RecentMap } from "../core/index.ts";
import type { AboutInput, TaskInputs } from "../driver/index.ts";
import type { AttemptLost, ChunkLost, Transfer } from "../ledger/index.ts";
import type { CallManner, GivenData, GivenInput, Report } from "../protocol/index.ts";
import type { State } from "../scheduler/index.ts";
import type { HolderDoor } from "./api.ts";
import { handleIn } from "./held-result.ts";
import type { PlacedTask } from "./placed-tasks.ts";
import type { ResultTexts } from "./results.ts";

/** Of runs, that are remembered: made again they are the same. */
const MAX_TOKENS = 1000;

/** What an assignment says of where inputs are. */
export class DataTerms {
  readonly #key: Uint8Array;
  readonly #tokens = new RecentMap<string, string>(MAX_TOKENS);
  readonly #urls = new Map<number, { readonly worker: string; readonly url: string }>();
  /** The addresses that these workers connect from. */
  readonly #peers = new Map<number, string | undefined>();
  readonly #addresses: HolderAddresses;

  constructor(key: Uint8Array, addresses: HolderAddresses = new HolderAddresses()) {
    this.#key = key;
    this.#addresses = addresses;
  }

  /**
   * Looks up where a `data_url` leads. A worker whose URL leads to a loopback address of another machine is `unreachable`: that is
   * what workers have by default, and most never need to be reached.
   */
  async standingOf(url: string, peer: string | undefined): Promise<"reachable" | "unreachable" | "refused"> {
    const refused = (await addressesOf(url)).filter((address) => !this.#addresses.permits(address, peer));
    if (refused.length === 0) return "reachable";
    return refused.every(isLoopback) ? "unreachable" : "refused";
  }

  /** Notes where others fetch the results of a worker. Without a URL nobody does. */
  note(worker: number, id: string, url: string | undefined, peer: string | undefined): void {
    this.#peers.set(worker, peer);
    if (url === undefined) this.#urls.delete(worker);
    else this.#urls.set(worker, { worker: id, url });
  }

  /** Forgets the address of a worker that is lost. */
  forget(worker: number): void {
    this.#peers.delete(worker);
    this.#urls.delete(worker);
  }

  urlOf(worker: number): string | undefined {
    return this.#urls.get(worker)?.url;
  }

  /** Returns where the server fetches the results of a worker, with the check of the address that it connects to. */
  doorOf(worker: number): HolderDoor | undefined {
    const url = this.urlOf(worker);
    const peer = this.#peers.get(worker);
    return url === undefined
      ? undefined
      : { url, permits: (address) => this.#addresses.permits(address, peer) };
  }

  /** Lets its bearer fetch the results of a run, from any worker that took part in it. */
  tokenOf(runId: string): string {
    let token = this.#tokens.get(runId);
    if (token === undefined) {
      token = createHmac("sha256", this.#key).update(runId).digest("base64url");
      this.#tokens.set(runId, token);
    }
    return token;
  }

  /** With the results of its inputs, and its payload as a text. */
  of(
    { worker }: PlacedTask,
    { rootId, chunks }: TaskInputs,
    results: ResultTexts,
    payload: string,
  ): GivenData {
    const manner = mannerIn(payload);
    // What nobody fetches is shown as it is.
    const taker = manner?.meta ? -1 : worker;
    const inputs = chunks.map((input) => this.#input(input, taker, results.of(input)));
    return { ...manner, token: this.tokenOf(rootId), inputs };
  }

  #input(input: AboutInput, taker: number, result: string | undefined): GivenInput {
    const { id: chunk, nodeId: node, rootId, isStored } = input;
    if (isStored && result === undefined) throw new Error(`the result of ${node} is not stored any more`);
    if (isStored && result !== undefined && rootId === undefined) return { chunk, node, value: result };
    const named = { chunk, node, ...(rootId !== undefined && { token: this.tokenOf(rootId) }) };
    if (isStored && result !== undefined) return { ...named, value: result };
    const from = input.workers.flatMap((worker) => {
      const at = worker === taker ? undefined : this.#urls.get(worker);
      return at ? [at] : [];
    });
    const handle = handleIn(result);
    return { ...named, ...handle, ...(input.workers.length > 0 && { from }) };
  }
}

/** Most payloads say nothing of it, which is seen without reading them. */
function mannerIn(payload: string): CallManner | undefined {
  if (!payload.includes('"as":')) return undefined;
  return (JSON.parse(payload) as { readonly as?: CallManner } | null)?.as;
}

/** The inputs whose results have to be known before tasks can be sent to their workers. */
export function resultsNeededBy(tasks: readonly PlacedTask[]): AboutInput[] {
  const needed: AboutInput[] = [];
  for (const { inputs } of tasks) {
    if (!inputs) continue;
    for (const input of inputs.chunks) if (input.isStored || input.workers.length > 0) needed.push(input);
  }
  return needed;
}

function missingOf({ inputs }: PlacedTask, report: Report): Missing {
  return report.type === "failed" && inputs ? report.missing : undefined;
}

type Missing = Extract<Report, { type: "failed" }>["missing"];

/** An input that an attempt did not get from a worker. */
type Loss = ChunkLost & { readonly missedBy: Pick<AttemptLost, "kind" | "run" | "node" | "attempt"> };

/** Returns the inputs of the task that a report says are missing. Only the report of a current attempt counts. */
export function lossesOf(
  state: State,
  task: PlacedTask,
  report: Report,
  isUnreachable: (worker: number) => boolean,
): Loss[] {
  const { inputs } = task;
  const missedBy = { kind: "AttemptLost", run: task.run, node: task.node, attempt: report.attempt } as const;
  return (missingOf(task, report) ?? []).flatMap(({ chunk, worker: id }) => {
    // Several nodes may have the same result, found where it was kept.
    const missed = inputs?.chunks.filter((input) => input.id === chunk) ?? [];
    return missed.flatMap(({ run, node }): Loss[] => {
      const holding = state.runs.get(run);
      if (holding?.chunkIdOf(node) !== chunk) return [];
      const holders = (holding.data?.holders.get(node) ?? []).filter(
        (one) => state.worker(one).id === id || isUnreachable(one),
      );
      return holders.map((worker) => ({ kind: "ChunkLost", run, node, worker, missedBy }));
    });
  });
}

/** How the inputs of a task came to its worker, as far as it is what the task was to get. */
export function transfersOf(
  state: State,
  { run, node, inputs, zone }: PlacedTask,
  { transfers = [], started_at }: Extract<Report, { type: "finished" }>,
): Transfer[] {
  const nodes = state.runs.get(run)?.graph.inputsOf(node);
  return transfers.flatMap(({ chunk, from, began_at, took_us }): Transfer[] => {
    const at = inputs?.chunks.findIndex(({ id }) => id === chunk) ?? -1;
    const input = nodes?.[at];
    const holder = inputs?.chunks[at]?.workers.find((one) => state.worker(one).id === from);
    const giver = holder ?? state.fleet.named(zone, from)?.number;
    return input !== undefined && giver !== undefined ? [[input, giver, began_at - started_at, took_us]] : [];
  });
}

/** The attempt could not begin for want of an input, through no fault of its own. */
export function lostInputs(
  task: PlacedTask,
  report: Report,
  reporter: number,
): { readonly stimulus: AttemptLost & { readonly taskId: string; readonly reporter: number } } | undefined {
  const { id: taskId, run, node } = task;
  if (!missingOf(task, report)) return undefined;
  const { attempt } = report;
  return { stimulus: { kind: "AttemptLost", run, node, attempt, startedAt: -1, taskId, reporter } };
}
