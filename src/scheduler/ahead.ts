import { Heap } from "../core/index.ts";
import { couldEverRun, type Needs, type Worker } from "../placement/index.ts";
import { type Entry, goesBefore } from "../queue/index.ts";
import { isDemoted } from "./admission.ts";
import { RunStanding } from "./bundle.ts";
import type { Group } from "./group.ts";
import { Lane } from "./lane.ts";
import { tasksOf } from "./offer.ts";
import type { Run } from "./run.ts";
import type { Precedence } from "./standing.ts";
import type { State } from "./state.ts";
import type { Tasks } from "./tasks.ts";

/** A task that goes before another: whose it is decides who may be told its id. */
export interface NextTask {
  readonly id: string;
  readonly zone: string;
  readonly agent: string;
  /** Undefined for a task of no run. */
  readonly node: string | undefined;
  /** Of the same run: what puts it before the task that was asked about. */
  readonly because?: Precedence;
}

/** The line in front of a task that is ready. */
export interface LineBefore {
  /** The first of it, in order. Of a run there is the one that goes first of each of its groups. */
  readonly first: readonly NextTask[];
  readonly count: number;
  /** What all of them should take together. */
  readonly workMs: number;
  /** So many wait that only some of them were looked at: all but the first of the line is about right. */
  readonly isAbout: true | undefined;
}

/** What is ready, could run, and goes before this task: what goes before its run, and of its run what goes before it. */
export function lineBefore(state: State, tasks: Tasks, node: number, now: number, most: number): LineBefore {
  const { first, count, workMs, isAbout } = firstAhead(state, tasks, node, now, most);
  return { first: first.map((one) => nextOf(state, one, tasks, node)), count, workMs, isAbout };
}

/** Of the tasks of no run that go before it, some from all of the line; and how much work all are for each that was taken. */
export function someBefore(
  state: State,
  tasks: Tasks,
  node: number,
  now: number,
  most: number,
): { readonly some: readonly number[]; readonly stretch: number } {
  const ahead: Entry[] = [];
  let workMs = 0;
  for (const { other, count } of new Standing(state, tasks, node, now).ahead()) {
    if (other.run || count === 0) continue;
    ahead.push(other.entry);
    workMs += count * other.entry.estimateMs;
  }
  const every = Math.ceil(ahead.length / most);
  const some = ahead.filter((_, at) => at % every === 0);
  const takenMs = some.reduce((sum, { estimateMs }) => sum + estimateMs, 0);
  return { some: some.map((one) => one.node), stretch: takenMs === 0 ? 1 : workMs / takenMs };
}

/** The workers that could run it if they were empty. */
export function ableWorkers(state: State, needs: Needs): Worker[] {
  return state.fleet
    .known()
    .filter((worker) => worker.status !== "Unreachable" && couldEverRun(worker, needs));
}

interface FirstAhead {
  readonly first: readonly InLine[];
  readonly count: number;
  readonly workMs: number;
  readonly isAbout: true | undefined;
}

/** The worst of the best so far stands on top of a heap: most of a long line needs only be compared with that one. */
function firstAhead(state: State, tasks: Tasks, node: number, now: number, most: number): FirstAhead {
  const best = new Heap<InLine>((a, b) => isAhead(state, b, a, now));
  const line = new Standing(state, tasks, node, now);
  let count = 0;
  let workMs = 0;
  for (const { other, count: of, isNamed } of line.ahead()) {
    count += of;
    workMs += of * other.entry.estimateMs;
    if (!isNamed) continue;
    if (best.size < most) best.push(other);
    else if (isAhead(state, other, best.peek() as InLine, now)) {
      best.pop();
      best.push(other);
    }
  }
  const first: InLine[] = [];
  for (let one = best.pop(); one; one = best.pop()) first.push(one);
  return { first: first.reverse(), count, workMs, isAbout: line.every > 1 ? true : undefined };
}

interface Ahead {
  readonly other: InLine;
  /** How many tasks it stands for. */
  readonly count: number;
  /** It may be told of; false where it was already. */
  readonly isNamed: boolean;
}

interface InLine {
  readonly group: Group;
  readonly demoted: boolean;
  readonly entry: Entry;
  readonly run: Run | undefined;
  readonly node: number;
  /** What it stands as among what is not of its run. */
  readonly as: Entry;
}

/** Where more wait, about so many are compared with the one that was asked about: all others wait for the answer too. */
const MOST_COMPARED = 20_000;
const COMPARED = 5_000;

/** All that stands in lines and could run, around a task of which somebody wants to know what goes first. */
class Standing {
  /** Of so many tasks of no run one is looked at, and counts for all. */
  readonly every: number;
  readonly #state: State;
  readonly #now: number;
  readonly #groups: readonly Group[];
  readonly #lanes: readonly Lane[];
  readonly #standings: ReadonlyMap<Run, RunStanding>;
  readonly #task: InLine;

  constructor(state: State, tasks: Tasks, node: number, now: number) {
    state.arrangeRuns(now);
    this.#state = state;
    this.#now = now;
    this.#groups = groupsThatCouldRun(state);
    this.#lanes = lanesOf(state, new Set(this.#groups));
    const waiting = this.#groups.reduce((sum, { line }) => sum + line.size, 0);
    this.every = waiting <= MOST_COMPARED ? 1 : strideOver(waiting / COMPARED);
    const lane = state.runs.get(tasks.number)?.laneOf(node);
    this.#standings = standingsOf(this.#lanes, lane);
    const own = tasks.groupOf(node);
    this.#task = this.#inLine(own, isDemoted(state, own, now), lane ?? state.singles.get(node), node);
  }

  *ahead(): Generator<Ahead> {
    for (const lane of this.#lanes) {
      const other = this.#inLine(lane.group, isDemoted(this.#state, lane.group, this.#now), lane, lane.node);
      const count = countAhead(this.#state, other, this.#task, this.#now);
      if (count > 0) yield { other, count, isNamed: true };
    }
    let from = 0;
    for (const group of this.#groups) {
      yield* this.#aheadIn(group, from);
      from = (((from - group.line.size) % this.every) + this.every) % this.every;
    }
  }

  /** Whom a group would give out next is always looked at, so that the first of all is the first. */
  *#aheadIn(group: Group, from: number): Generator<Ahead> {
    const demoted = isDemoted(this.#state, group, this.#now);
    const head = this.every > 1 ? group.line.first(this.#now, demoted) : undefined;
    if (head && !(head instanceof Lane)) yield* this.#ifAhead(group, demoted, head, 0, true);
    for (const entry of group.line.entries(this.every, from)) {
      if (!(entry instanceof Lane)) yield* this.#ifAhead(group, demoted, entry, this.every, entry !== head);
    }
  }

  *#ifAhead(group: Group, demoted: boolean, entry: Entry, count: number, isNamed: boolean): Generator<Ahead> {
    const other = this.#inLine(group, demoted, entry, entry.node);
    if (isAhead(this.#state, other, this.#task, this.#now)) yield { other, count, isNamed };
  }

  #inLine(group: Group, demoted: boolean, entry: Entry, node: number): InLine {
    const run = entry instanceof Lane ? entry.run : undefined;
    return { group, demoted, entry, run, node, as: (run && this.#standings.get(run)) ?? entry };
  }
}

/** What comes regularly comes in twos, threes, fives or tens: with such a stride it would be always the same. */
function strideOver(least: number): number {
  let stride = Math.ceil(least);
  while (stride % 2 === 0 || stride % 3 === 0 || stride % 5 === 0 || stride % 7 === 0) stride++;
  return stride;
}

function groupsThatCouldRun(state: State): Group[] {
  return [...state.pools.values()]
    .filter(({ demand }) => ableWorkers(state, demand.needs).length > 0)
    .flatMap(({ groups }) => [...groups.values()]);
}

function lanesOf(state: State, groups: ReadonlySet<Group>): Lane[] {
  const open = [...state.runs.values()].filter(({ outcome }) => outcome === undefined);
  return open.flatMap((run) => [...run.lanes()].filter(({ size, group }) => size > 0 && groups.has(group)));
}

/** What each run stands as by what of it could run, and by the lane of the task in any case. */
function standingsOf(lanes: readonly Lane[], always: Lane | undefined): Map<Run, RunStanding> {
  const standings = new Map<Run, RunStanding>();
  for (const { run, node, tier } of always && always.size > 0 ? [always, ...lanes] : lanes) {
    const known = standings.get(run);
    const first = known && run.goesBefore(known.node, node) ? known.node : node;
    standings.set(run, new RunStanding(run, first, known && known.tier < tier ? known.tier : tier));
  }
  return standings;
}

function isAhead({ config }: State, a: InLine, b: InLine, now: number): boolean {
  if (a.run && a.run === b.run) return a.run.goesBefore(a.node, b.node);
  return goesBefore(a.as, a.demoted, b.as, b.demoted, now, config);
}

/** How many nodes of a lane go first: of another run all do or none. */
function countAhead(state: State, other: InLine, task: InLine, now: number): number {
  const { run } = other;
  const { size, nodes } = other.entry as Lane;
  if (run !== task.run) return isAhead(state, other, task, now) ? size : 0;
  return nodes.reduce((ahead, one) => (run?.goesBefore(one, task.node) ? ahead + 1 : ahead), 0);
}

function nextOf(state: State, { entry, group }: InLine, tasks: Tasks, than: number): NextTask {
  const { zone, agent } = group;
  const id = tasksOf(state, entry).taskIdOf(entry.node);
  if (!(entry instanceof Lane)) return { id, zone, agent, node: undefined };
  const node = entry.run.graph.idOf(entry.node);
  const isBefore = entry.run === tasks && entry.run.goesBefore(entry.node, than);
  return { id, zone, agent, node, ...(isBefore && { because: entry.run.whatParts(entry.node, than) }) };
}
