import fc from "fast-check";
import { expect, test } from "vitest";
import type { AssignMessage } from "./assign-message.ts";
import { assignmentOf, assignmentsIn, assignText, type GivenAssignment, type GivenInput } from "./index.ts";

const SEED = { seed: 1, numRuns: 500 };
const anyText = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value));
const anyName = fc.constantFrom("a", "b", 'say "hi"', "ü\n");

const anyInput: fc.Arbitrary<GivenInput> = fc.record(
  {
    chunk: fc.uuid().map((task) => `${task}:1`),
    node: anyName,
    value: anyText,
    kind: fc.constantFrom("json", "bytes"),
    token: anyName,
    from: fc.array(fc.record({ worker: anyName, url: fc.constant("http://10.0.0.7:4711") })),
  },
  { requiredKeys: ["chunk", "node"] },
);

const anyData = fc.record(
  {
    token: fc.constantFrom("one", "two"),
    inputs: fc.array(anyInput, { maxLength: 3 }),
    io: fc.constant(true as const),
    processor: fc.constantFrom("main", "thread"),
    meta: fc.constant(true as const),
  },
  { requiredKeys: ["token", "inputs"] },
);

const anyAssignment: fc.Arbitrary<GivenAssignment> = fc.record(
  {
    task: fc.uuid(),
    attempt: fc.nat(9),
    task_type: anyName,
    executor: fc.constantFrom("default", "gpu"),
    zone: fc.constantFrom("main", "other"),
    agent: anyName,
    payload: anyText,
    timeout_ms: fc.constantFrom(0, 1000),
    run: fc.uuid(),
    node: anyName,
    alternative: fc.constant("speculate:alt1"),
    budget: fc.constant({
      ops: 1,
      memory: 2,
      spawn_count: 3,
      channel_ops: 4,
      syscalls: 5,
      on_exhausted: "wait" as const,
    }),
    capabilities: fc.array(anyName),
    traceparent: fc.constant("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    tracestate: anyName,
    data: anyData,
  },
  {
    requiredKeys: ["task", "attempt", "task_type", "executor", "zone", "agent", "payload", "timeout_ms"],
  },
);

/** As many are: nodes of one run that call one function. */
const alike = fc
  .record({ of: anyAssignment, tasks: fc.array(fc.uuid(), { minLength: 2, maxLength: 5 }) })
  .map(({ of, tasks }) => tasks.map((task) => ({ ...of, task })));

test("[D-09] a worker reads from a message what it was given, whatever its assignments have in common", () => {
  fc.assert(
    fc.property(fc.oneof(alike, fc.array(anyAssignment, { maxLength: 4 })), (given) => {
      const message = JSON.parse(assignText(given)) as AssignMessage & { readonly type: string };
      expect(message.type).toBe("assign");
      expect(assignmentsIn(message)).toEqual(given.map(assignmentOf));
    }),
    SEED,
  );
});

test("[D-09] what several nodes of a run have in common is said once", () => {
  const { token, ...terms } = {
    task_type: "sum",
    executor: "default",
    zone: "main",
    agent: "anna",
    run: "0192f3a4-0000-7000-8000-000000000001",
    token: "a-token-of-the-run",
  };
  const given = [1, 2, 3].map((n) => ({
    ...terms,
    task: `0192f3a4-5b6c-7d8e-9f00-11223344556${n}`,
    attempt: 1,
    payload: "{}",
    timeout_ms: 0,
    data: { token, inputs: [] },
  }));
  const text = assignText(given);
  for (const once of [...Object.values(terms), token])
    expect(text.split(JSON.stringify(once))).toHaveLength(2);
});
