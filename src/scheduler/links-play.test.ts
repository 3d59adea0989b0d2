import fc from "fast-check";
import { expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { MIB } from "../../tests/data-play.ts";
import { expectReplayed } from "../../tests/replayed.ts";
import { nodeOfKey, runOfKey } from "../placement/index.ts";
import { linkRefusal, type Run, Status, type Stimulus } from "./index.ts";

const MAX_TURNS = 400;
const MAX_RUNS = 12;

/** Takes numbers from a list, and from its beginning again. */
type Draw = (below: number) => number;

interface Placed {
  readonly run: Run;
  readonly node: number;
}

/** Runs that grow by nodes which name nodes above them, on workers that are lost, until all have ended. */
class Play {
  readonly loop: Loop = new Loop({ keepEndedRuns: 100 });
  readonly #draw: Draw;
  #workers = 0;
  #idle = 0;

  constructor(draw: Draw) {
    this.#draw = draw;
    const ids = Array.from({ length: 4 + draw(5) }, (_, at) => `n${at}`);
    const nodes = ids.map((id, at) => this.#node(id, ids.slice(0, at)));
    this.loop.turn(1, this.#joins(), this.#joins(), submits("r", nodes));
  }

  get runs(): Run[] {
    return [...this.loop.state.runs.values()];
  }

  get isOver(): boolean {
    return this.runs.every(({ outcome }) => outcome !== undefined);
  }

  turn(at: number): void {
    const lost = this.#draw(9) === 0 ? this.#lives()[this.#draw(2)] : undefined;
    if (lost !== undefined) {
      this.loop.turn(at, { kind: "WorkerLost", worker: lost, code: "lease" }, this.#joins());
      return;
    }
    const placed = this.#placed();
    // What is to be tried again begins with the next turn.
    this.#idle = placed.length === 0 ? this.#idle + 1 : 0;
    expect(this.#idle, "turns in which nothing runs").toBeLessThan(3);
    const one = placed[this.#draw(Math.max(1, placed.length))];
    this.loop.turn(at, ...(one ? [this.#ends(one)] : []));
  }

  #node(id: string, before: readonly string[]) {
    const inputs = before.filter(() => this.#draw(3) === 0);
    const more = this.#draw(3) === 0 && { mayAdd: 3 };
    return aNode(id, { inputs, maxAttempts: 3, backoffMs: 0, ...more, keep: this.#draw(5) === 0 });
  }

  #joins(): Stimulus {
    return joins(`w${this.#workers++}`, { slots: 3 });
  }

  #lives(): number[] {
    const { workers } = this.loop.state.fleet;
    return workers.filter(({ status }) => status !== "Unreachable").map(({ number }) => number);
  }

  #placed(): Placed[] {
    const { state } = this.loop;
    return this.#lives().flatMap((worker) =>
      [...state.worker(worker).held.keys()].map((key) => ({
        run: state.run(runOfKey(key)),
        node: nodeOfKey(key),
      })),
    );
  }

  #ends(placed: Placed): Stimulus {
    const { run, node } = placed;
    const of = { run: run.number, node, attempt: run.attemptOf(node), startedAt: -1 };
    const added = run.taskOf(node).mayAdd && this.runs.length < MAX_RUNS && this.#adds(placed, of);
    if (added) return added;
    if (run.statusOf(node) === Status.cancelling) return { kind: "AttemptCancelled", ...of };
    if (this.#draw(12) === 0) return { kind: "AttemptFailed", ...of, code: "x", message: "" };
    const result = { resultHash: `${run.id} ${node}`, resultBytes: MIB, costMicros: 0 };
    return { kind: "AttemptFinished", ...of, ...result, ...(this.#draw(4) > 0 && { held: true }) };
  }

  /** Two nodes, the second of which gets what the first makes and up to two results from above. */
  #adds({ run, node }: Placed, of: { run: number; node: number; attempt: number; startedAt: number }) {
    const above = [run, ...this.runs.filter(({ number }) => number === run.parent?.run)];
    const targets = Array.from({ length: 1 + this.#draw(2) }, () => {
      const target = above[this.#draw(above.length)] as Run;
      return { run: target.number, node: this.#draw(target.graph.size) };
    }).filter((target) => linkRefusal(this.loop.state, { run: run.number, node }, target) === undefined);
    const names = targets.map((_, at) => `link${at}`);
    const nodes = [this.#node("first", []), aNode("last", { inputs: ["first", ...names], keep: true })];
    const id = `${run.id}/${node}.${of.attempt}`;
    const links = targets.map((target, at) => [2 + at, target.run, target.node] as const);
    return {
      ...submits(id, [...nodes, ...names.map((name) => aNode(name))]),
      parent: { ...of, tail: 1, links },
    };
  }
}

test("[D-12] whatever is lost, runs that name nodes above them end, and nothing is kept for them then", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1_000_000), { minLength: 60, maxLength: 200 }), (numbers) => {
      let at = 0;
      const play = new Play((below) => (numbers[at++ % numbers.length] as number) % below);
      let turn = 2;
      while (!play.isOver && turn < MAX_TURNS) play.turn(turn++);
      // Whoever repeats the same numbers may lose workers for ever.
      fc.pre(play.isOver);
      const { state } = play.loop;
      for (const { data } of play.runs)
        expect([data?.lent.size, data?.loans.size, data?.awaited.size]).toEqual([0, 0, 0]);
      play.loop.turn(turn, ...play.runs.map(({ number }) => ({ kind: "RunReleased", run: number }) as const));
      for (const { data } of play.runs) expect(data?.holders.size).toBe(0);
      expect([state.withLinks.size, state.withIdle.size, state.backlog]).toEqual([0, 0, 0]);
      expectReplayed(play.loop);
    }),
    { numRuns: 60, endOnFailure: true, seed: 1, maxSkipsPerRun: 50 },
  );
});
