import type { WireGraph } from "../graph/index.ts";
import { Registrations } from "../placement/index.ts";
import {
  type Account,
  type Group,
  runBytes,
  type State,
  Status,
  specBytes,
  TASK_BYTES,
  zonedKey,
} from "../scheduler/index.ts";
import { demand } from "./violation.ts";

/** Counts again what work holds, from the tasks, runs and groups alone, and compares it with the sums that the state keeps. */
export function compareAccounts(state: State): void {
  compareRegistrations(state);
  const truth = recount(state);
  const said = Array.from(state.accounts.byKey.values(), sumsOf);
  demand(
    said.sort().join() === [...truth.values()].map(sumsOf).sort().join(),
    "what-work-holds",
    () => `agents hold ${said.join()}, should hold ${[...truth.values()].map(sumsOf).sort().join()}`,
  );
  for (const unit of ["waiting", "bytes"] as const) {
    const inAll = [...truth.values()].reduce((sum, account) => sum + account[unit], 0);
    const ofZones = [...state.accounts.zones.values()].reduce((sum, account) => sum + account[unit], 0);
    demand(
      state.accounts[unit] === inAll && ofZones === inAll,
      "what-work-holds",
      () => `${unit}: the state says ${state.accounts[unit]} and ${ofZones} by zone, ${inAll} is true`,
    );
  }
  let ended = 0;
  for (const run of state.runs.values()) if (run.outcome !== undefined) ended += run.bytes;
  demand(
    state.accounts.endedBytes === ended,
    "what-work-holds",
    () => `ended runs hold ${state.accounts.endedBytes} in the state, ${ended} is true`,
  );
}

/** Counts again what registrations hold, from the workers alone, and compares it with the sums that the fleet keeps. */
function compareRegistrations({ fleet }: State): void {
  const truth = new Registrations();
  for (const worker of fleet.known()) {
    truth.enter(worker.spec);
    if (worker.status === "Unreachable") truth.lose(worker.spec);
  }
  const textOf = ({ bytes, lostBytes, byKey, bytesByKey, byZone }: Registrations) =>
    JSON.stringify([
      bytes,
      lostBytes,
      ...[byKey, bytesByKey, byZone].map((map) => Array.from(map, String).sort()),
    ]);
  const said = textOf(fleet.registrations);
  demand(
    said === textOf(truth),
    "what-work-holds",
    () => `registrations hold ${said}, should hold ${textOf(truth)}`,
  );
}

interface Sum {
  readonly key: string;
  waiting: number;
  bytes: number;
}

function sumsOf({ key, waiting, bytes }: Sum | Account): string {
  return `${key} ${waiting} ${bytes}`;
}

function recount(state: State): Map<string, Sum> {
  const sums = new Map<string, Sum>();
  const sumOf = (zone: string, agent: string): Sum => {
    const key = zonedKey(zone, agent);
    const sum = sums.get(key) ?? { key, waiting: 0, bytes: 0 };
    sums.set(key, sum);
    return sum;
  };
  const groups = new Set<Group>();
  const specs = new Set<string>();
  for (const { zone, agent, spec, group, status } of state.singles.all.values()) {
    const sum = sumOf(zone, agent);
    if (status <= Status.delayed) sum.waiting++;
    sum.bytes += TASK_BYTES;
    groups.add(group);
    const name = JSON.stringify([zone, agent, Object.values(spec)]);
    if (!specs.has(name)) sum.bytes += specBytes(spec);
    specs.add(name);
  }
  for (const run of state.runs.values()) {
    if (run.outcome !== undefined) continue;
    const sum = sumOf(run.zone, run.agent);
    for (const status of run.status) if (status <= Status.delayed) sum.waiting++;
    const wire: WireGraph = run.graph.toWire(run.carried);
    sum.bytes += runBytes(wire, run.graph.specs, run.links.size);
    for (const { group } of run.lanes()) groups.add(group);
  }
  for (const group of groups) sumOf(group.zone, group.agent).bytes += group.bytes;
  return sums;
}
