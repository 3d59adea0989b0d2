import {
  type Change,
  isServing,
  lineBefore,
  type OneChange,
  type Prospect,
  prospectOf,
  roomFor,
  type Sooner,
  type State,
  type WaitReason,
  whyHere,
} from "../scheduler/index.ts";
import { describeChange, type OneToldChange, type ToldChange } from "../words/index.ts";
import type { Caller, Outlook, SoonerView } from "./api.ts";
import { isVisible, type Place } from "./live-task.ts";
import { apart } from "./task-types.ts";

/** How many tasks, workers and changes are told of. */
const MOST_AHEAD = 10;
const MOST_WORKERS = 100;
const MOST_CHANGES = 5;
/** What only room and time can mend. */
const IN_LINE: readonly WaitReason["code"][] = ["Capacity", "Outranked", "Pending"];

/** What goes first, when it should start, who could take it, and what would make it sooner. */
export function outlookOf(
  state: State,
  caller: Caller,
  { tasks, node, zone }: Place,
  reasons: readonly WaitReason[],
  now: number,
): Outlook {
  const candidates = whyHere(state, tasks, node)
    .filter(({ number }) => isServing(state, number, zone))
    .sort((a, b) => (a.rank ?? Number.MAX_SAFE_INTEGER) - (b.rank ?? Number.MAX_SAFE_INTEGER))
    .slice(0, MOST_WORKERS);
  const [primary] = reasons;
  const isInLine = primary !== undefined && IN_LINE.includes(primary.code);
  const line = isInLine ? lineBefore(state, tasks, node, now, MOST_AHEAD) : NO_LINE;
  const room = roomFor(state, tasks, node, now);
  const prospect = prospectOf(state, tasks, node, now, reasons);
  const summed = isInLine && room.slots > 0 ? (room.leftMs + line.workMs) / room.slots : undefined;
  const startsInMs = prospect?.isNever ? undefined : (startIn(prospect, now) ?? summed);
  return {
    ahead: line.first.filter((one) => isVisible(caller, one)),
    forecast:
      startsInMs === undefined
        ? undefined
        : { startsInMs: Math.round(startsInMs), ahead: line.count, slots: room.slots },
    candidates,
    chain: prospect?.chain ?? [],
    sooner: (prospect?.sooner ?? [])
      .filter(({ change }) => !("task" in change) || isVisible(caller, change.task))
      .slice(0, MOST_CHANGES)
      .map((one) => soonerView(one, now)),
  };
}

const NO_LINE = { first: [], count: 0, workMs: 0 };

function startIn(prospect: Prospect | undefined, now: number): number | undefined {
  return prospect?.startsAt === undefined ? undefined : Math.max(0, prospect.startsAt - now);
}

function soonerView({ change, startsAt }: Sooner, now: number): SoonerView {
  const told = toldChange(change);
  return { change: told, text: describeChange(told), startsInMs: Math.max(0, startsAt - now) };
}

function toldChange(change: Change): ToldChange {
  if (change.kind !== "together") return oneTold(change);
  return { kind: "together", changes: change.changes.map(oneTold) };
}

/** A worker's types are told apart from what else it is capable of. */
function oneTold(change: OneChange): OneToldChange {
  if (change.kind !== "worker" || !change.adds.capabilities) return change;
  const { capabilities, types } = apart(change.adds.capabilities);
  const { capabilities: _, ...adds } = change.adds;
  return {
    ...change,
    adds: { ...adds, ...(capabilities.length > 0 && { capabilities }), ...(types.length > 0 && { types }) },
  };
}
