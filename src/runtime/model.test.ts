// Random programs beside a small model of what they mean. The model knows nothing of slices, queues or processors: it
// says what a nursery comes to, whoever runs when. Which of several errors wins depends on the order; that there is one
// does not.

import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type Fiber,
  type Nursery,
  Panic,
  Runtime,
  type RuntimeOptions,
  type Snapshot,
  type Steps,
  sleep,
} from "./index.ts";
import { FIBER_MOVES, FIBER_STATES, NURSERY_MOVES, type NurseryState } from "./states.ts";

type Leaf =
  | { readonly do: "work"; readonly ops: number }
  | { readonly do: "alloc"; readonly bytes: number }
  | { readonly do: "pause"; readonly times: number }
  | { readonly do: "sleep"; readonly ms: number }
  | { readonly do: "fail" }
  | { readonly do: "panic" }
  /** Cancels the nursery that it is in. */
  | { readonly do: "revolt" };

type Step =
  | Leaf
  | { readonly do: "leaf"; readonly ops: number; readonly memory: number; readonly steps: readonly Leaf[] }
  | { readonly do: "branch"; readonly steps: readonly Step[] }
  | { readonly do: "attempt"; readonly steps: readonly Step[] }
  | { readonly do: "join" }
  | { readonly do: "cancel" };

/** What a program comes to: what it gives and spends, or with which errors it may fail, of which it will with one. */
interface Meaning {
  readonly value: number;
  readonly ops: number;
  readonly memory: number;
  readonly fails: ReadonlySet<string>;
  /** Errors that are caught, unless who would catch them is being cancelled. */
  readonly latent: ReadonlySet<string>;
  /** Whether anything in it fails, though that may be caught. */
  readonly clean: boolean;
}

const CAUGHT = -7;
const NONE: ReadonlySet<string> = new Set();

function meaningOfLeaf(steps: readonly Leaf[], budget: { ops: number; memory: number }): Meaning {
  let [value, ops, memory] = [0, 0, 0];
  const failing = (code: string): Meaning => ({
    value,
    ops,
    memory,
    fails: new Set([code]),
    latent: NONE,
    clean: false,
  });
  for (const step of steps) {
    if (step.do === "fail") return failing("fails");
    if (step.do === "panic") return failing("panics");
    if (step.do === "revolt") return failing("NurseryCancelled");
    if (step.do === "work") {
      ops += step.ops;
      value += step.ops;
      if (ops > budget.ops) return failing("OpsBudgetExhausted");
    }
    if (step.do === "alloc") {
      if (ops + 1 > budget.ops) return failing("OpsBudgetExhausted");
      if (memory + step.bytes > budget.memory) return failing("MemoryBudgetExhausted");
      ops += 1;
      memory += step.bytes;
    }
  }
  return { value, ops, memory, fails: NONE, latent: NONE, clean: true };
}

function meaningOfNursery(steps: readonly Step[]): Meaning {
  let [value, ops, memory, clean] = [0, 0, 0, true];
  const fails = new Set<string>();
  const latent = new Set<string>();
  const add = (part: Meaning) => {
    value += part.value;
    ops += part.ops;
    memory += part.memory;
    clean &&= part.clean;
    for (const code of part.fails) fails.add(code);
    for (const code of part.latent) latent.add(code);
  };
  for (const step of steps) {
    if (step.do === "leaf" || step.do === "branch") ops += 1;
    if (step.do === "leaf") add(meaningOfLeaf(step.steps, step));
    else if (step.do === "branch") add(meaningOfNursery(step.steps));
    else if (step.do === "attempt") {
      const inner = meaningOfNursery(step.steps);
      const value = inner.fails.size > 0 ? CAUGHT : inner.value;
      add({ ...inner, fails: NONE, latent: new Set([...inner.fails, ...inner.latent]), value });
    } else if (step.do === "cancel") {
      fails.add("NurseryCancelled");
      break;
    } else if (step.do !== "join") {
      const own = meaningOfLeaf([step], { ops: Number.POSITIVE_INFINITY, memory: Number.POSITIVE_INFINITY });
      add(own);
      if (own.fails.size > 0) break;
    }
  }
  return { value, ops, memory, fails, latent, clean: clean && fails.size === 0 };
}

function possibleErrors({ fails, latent }: Meaning): string[] {
  return fails.size === 0 ? [] : [...fails, ...latent];
}

/** Runs a program, and counts what was begun and what was left behind. */
class Interpreter {
  begun = 0;
  ended = 0;

  *leaf(n: Nursery, fiber: Fiber, steps: readonly Leaf[]): Steps<number> {
    this.begun++;
    let value = 0;
    try {
      for (const step of steps) value += yield* this.#one(n, fiber, step);
      return value;
    } finally {
      this.ended++;
    }
  }

  *#one(n: Nursery, fiber: Fiber, step: Leaf): Steps<number> {
    if (step.do === "revolt") {
      n.cancel();
      yield;
    }
    if (step.do === "fail") throw Object.assign(new Error("fails"), { code: "fails" });
    if (step.do === "panic") throw Object.assign(new Panic("panics"), { code: "panics" });
    if (step.do === "work") {
      for (let i = 0; i < step.ops; i++) if (fiber.loop()) yield;
      // A loop that was overdrawn in its last iteration is noticed at the next yield.
      yield;
      return step.ops;
    }
    if (step.do === "alloc") yield* fiber.alloc(step.bytes);
    if (step.do === "sleep") yield* sleep(step.ms);
    if (step.do === "pause") for (let i = 0; i < step.times; i++) yield* fiber.pause();
    return 0;
  }

  *body(n: Nursery, fiber: Fiber, steps: readonly Step[]): Steps<number> {
    const children: ReturnType<Nursery["spawn"]>[] = [];
    this.begun++;
    let value = 0;
    try {
      for (const step of steps)
        if (step.do === "leaf") {
          const budget = { ops: step.ops, memory: step.memory };
          children.push(n.spawn((child) => this.leaf(n, child, step.steps), [], { budget }));
        } else if (step.do === "branch") {
          const budget = {
            ops: share(n.pool.ops),
            memory: share(n.pool.memory),
            spawnCount: share(n.pool.spawnCount),
          };
          children.push(n.spawn((child) => this.nursery(child, step.steps), [], { budget }));
        } else if (step.do === "attempt") value += yield* this.#attempt(n, fiber, step.steps);
        else if (step.do === "cancel") {
          n.cancel();
          yield;
        } else if (step.do === "join") for (const child of children) yield* child.join();
        else value += yield* this.#one(n, fiber, step);
      for (const child of children) value += (yield* child.join()) as number;
      return value;
    } finally {
      this.ended++;
    }
  }

  *nursery(fiber: Fiber, steps: readonly Step[]): Steps<number> {
    return yield* fiber.nursery(undefined, undefined, (n, self) => this.body(n, self, steps));
  }

  *#attempt(n: Nursery, fiber: Fiber, steps: readonly Step[]): Steps<number> {
    const budget = {
      ops: share(n.pool.ops),
      memory: share(n.pool.memory),
      spawnCount: share(n.pool.spawnCount),
    };
    try {
      return yield* fiber.nursery(budget, undefined, (inner, self) => this.body(inner, self, steps));
    } catch (error) {
      // What was thrown because this nursery is itself being cancelled is not caught.
      if (n.state !== "Open") throw error;
      return CAUGHT;
    }
  }
}

function share(amount: number): number {
  return Math.floor(amount / 4);
}

const leafStep: fc.Arbitrary<Leaf> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("work" as const), ops: fc.nat(2_500) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("alloc" as const), bytes: fc.nat(3_000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("pause" as const), times: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("sleep" as const), ms: fc.nat(3) }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom({ do: "fail" as const }, { do: "panic" as const }, { do: "revolt" as const }),
  },
);

const { steps: programs } = fc.letrec<{ step: Step; steps: Step[] }>((tie) => ({
  step: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 3, arbitrary: leafStep },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant("leaf" as const),
        ops: fc.integer({ min: 2_000, max: 12_000 }),
        memory: fc.nat(9_000),
        steps: fc.array(leafStep, { maxLength: 4 }),
      }),
    },
    { weight: 1, arbitrary: fc.constantFrom({ do: "join" as const }, { do: "cancel" as const }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom("branch" as const, "attempt" as const),
        steps: tie("steps"),
      }),
    },
  ),
  steps: fc.array(tie("step"), { maxLength: 5 }),
}));

/** The one move that some hundreds of random programs may happen not to make. */
const CANCELLED_WHILE_EXHAUSTED: Step[] = [
  { do: "leaf", ops: 1, memory: 0, steps: [{ do: "work", ops: 5 }] },
  { do: "pause", times: 3 },
  { do: "cancel" },
];

const modes: fc.Arbitrary<RuntimeOptions> = fc.oneof(
  fc.constant({}),
  fc.record({
    deterministic: fc.constant(true),
    processors: fc.constantFrom(1, 2, 3, 8),
    seed: fc.nat(),
    victims: fc.constantFrom("random" as const, "round-robin" as const, "least-loaded" as const),
  }),
);

test("[R-02] [R-04] [R-07] [R-13] random programs come to what the model says, move as the tables say, and leave nothing", async () => {
  const seen = { moves: new Set<string>(), succeeded: 0, failed: 0 };
  await fc.assert(
    fc.asyncProperty(programs, modes, async (program, options) => {
      const watched = new Watched();
      await using rt = await Runtime.start({
        ...options,
        budget: { ops: 2e12, memory: 2e12 },
        observer: watched.observer,
      });
      const interpreter = new Interpreter();
      const { outcome } = rt.launch({ ops: 1e12, memory: 1e12, spawnCount: 1e6 }, undefined, (n, fiber) =>
        interpreter.body(n, fiber, program),
      );
      const ended = await outcome;
      const meaning = meaningOfNursery(program);
      if (ended.kind === "success") expect([...meaning.fails, ended.value]).toEqual([meaning.value]);
      else expect(possibleErrors(meaning)).toContain((ended.error as { code: string }).code);
      if (meaning.clean)
        expect(rt.snapshot().budget.spent).toMatchObject({ ops: meaning.ops, memory: meaning.memory });
      expect(interpreter.ended).toBe(interpreter.begun);
      watched.check(rt.snapshot());
      for (const move of watched.moves) seen.moves.add(move);
      seen[ended.kind === "success" ? "succeeded" : "failed"]++;
    }),
    { numRuns: Number(process.env["MODEL_RUNS"] ?? 400), examples: [[CANCELLED_WHILE_EXHAUSTED, {}]] },
  );
  const possible = FIBER_STATES.flatMap((from) => FIBER_MOVES[from].map((to) => `${from} ${to}`));
  expect(possible.filter((move) => !seen.moves.has(move))).toEqual([]);
  expect(Math.min(seen.succeeded, seen.failed)).toBeGreaterThan(50);
});

/** What was seen of all moves, checked against the tables apart from the runtime's own check. */
class Watched {
  readonly moves = new Set<string>();
  readonly #states = new Map<number, string>();
  readonly #nurseries = new Map<number, string>();
  readonly #faults: string[] = [];

  readonly observer = {
    moved: (fiber: number, from: number, to: number) => {
      const [was, is] = [FIBER_STATES[from] ?? "", FIBER_STATES[to] ?? ""];
      if ((this.#states.get(fiber) ?? "Ready") !== was) this.#faults.push(`fiber ${fiber} was not ${was}`);
      if (!FIBER_MOVES[was as "Ready"].includes(is as "Ready")) this.#faults.push(`${was} ${is}`);
      this.#states.set(fiber, is);
      this.moves.add(`${was} ${is}`);
    },
    nurseryMoved: (nursery: number, from: string, to: string) => {
      if ((this.#nurseries.get(nursery) ?? "Open") !== from)
        this.#faults.push(`nursery ${nursery} was not ${from}`);
      if (!NURSERY_MOVES[from as NurseryState].includes(to as NurseryState))
        this.#faults.push(`${from} ${to}`);
      this.#nurseries.set(nursery, to);
    },
  };

  check(snapshot: Snapshot): void {
    expect(this.#faults).toEqual([]);
    expect(
      [...this.#states.values()].filter((state) => state !== "Completed" && state !== "Cancelled"),
    ).toEqual([]);
    expect(
      [...this.#nurseries.values()].filter((state) => state !== "Closed" && state !== "Cancelled"),
    ).toEqual([]);
    expect(snapshot).toMatchObject({ roots: [], budget: { held: { ops: 0, memory: 0, spawnCount: 0 } } });
    const { total, reserve, spent, waived } = snapshot.budget;
    expect(reserve.ops + spent.ops - waived.ops).toBe(total.ops);
    expect(reserve.memory + spent.memory - waived.memory).toBe(total.memory);
  }
}
