import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../tests/postgres.ts";
import { aSubmission } from "../../tests/submissions.ts";
import { task } from "../worker/index.ts";
import { localCaller, type Orrery, open, Refused, type TaskOptions } from "./index.ts";

const OPTIONS = [
  "priority",
  "estimateMs",
  "runAt",
  "deadline",
  "maxAttempts",
  "backoffMs",
  "timeoutMs",
  "limits",
  "budget",
  "onExhausted",
  "idempotencyKey",
  "executor",
];

const nastyNumber = fc.oneof(
  fc.constantFrom(0, -0, -1, 0.1, 0.5, 1.5, 7, 1e-300, 1e15, 2 ** 31, 2 ** 53, 2 ** 64, 1e300, -1e300),
  fc.constantFrom(
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    8.64e15,
    253_402_300_800_000,
  ),
  fc.integer(),
  fc.double(),
);
const nastyText = fc.oneof(
  fc.constantFrom(
    "",
    "\0",
    "a\0b",
    "\u0001",
    "\ud800",
    "b\udc00",
    "\u202e",
    "x".repeat(257),
    "__proto__",
    "default",
  ),
  fc.string({ unit: "binary" }),
  fc.string(),
);
const nasty: fc.Arbitrary<unknown> = fc.oneof(
  nastyNumber,
  nastyText,
  fc.array(nastyText, { maxLength: 3 }),
  fc.dictionary(nastyText, nastyNumber, { maxKeys: 3 }),
  fc.record({ ops: nastyNumber, memory: nastyNumber, spawnCount: nastyNumber }, { requiredKeys: [] }),
  fc.constantFrom<unknown>(
    null,
    undefined,
    true,
    1n,
    Symbol("s"),
    new Date(Number.NaN),
    new Map([["a", 1]]),
    [[]],
  ),
);
/** Options of the right form: each of them alone would be taken. */
const usual: fc.Arbitrary<TaskOptions> = fc.record(
  {
    priority: fc.constantFrom(0, 1, 2, 3, 4),
    estimateMs: fc.constantFrom(0.4, 1.5, 30_000),
    backoffMs: fc.constantFrom(-0, 0.5, 10),
    runAt: fc.constant(100.5),
    limits: fc.constantFrom(["a"], { b: 2, c: 0 }),
    budget: fc.constantFrom({}, { ops: 5 }),
  },
  { requiredKeys: [] },
);
const bag = fc.oneof(
  fc.dictionary(fc.oneof({ weight: 20, arbitrary: fc.constantFrom(...OPTIONS) }, fc.string()), nasty, {
    maxKeys: 3,
  }),
  fc
    .tuple(usual, fc.constantFrom(...OPTIONS), nasty)
    .map(([most, name, value]) => ({ ...most, [name]: value })),
  usual,
);
const type = fc.oneof({ weight: 9, arbitrary: fc.constant("add") }, nasty);

for (const backend of ["memory", "postgresql"] as const) {
  let orrery: Orrery;
  const stopped: string[] = [];

  beforeAll(async () => {
    orrery = await open({
      store: backend === "memory" ? "memory" : (await testDatabase()).url,
      tasks: { add: task<{ a: number }>(({ a }) => a + 1) },
      warn: (message) => message.includes("stopped") && stopped.push(message),
    });
  });
  afterAll(() => orrery.close());

  const next = async (a: number) => {
    expect(await orrery.result(await orrery.submit("add", { a }))).toBe(a + 1);
    expect(stopped).toEqual([]);
  };

  test(`[S-26.schema] ${backend}: options are taken, or refused with the name of one, and the scheduler goes on`, async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(type, bag, async (name, options) => {
        const refused = await orrery.submit(name as string, { a: 1 }, options as TaskOptions).then(
          () => undefined,
          (error: unknown) => error,
        );
        if (refused !== undefined && !(refused instanceof Refused)) {
          expect(refused).toBeInstanceOf(TypeError);
          const { message } = refused as TypeError;
          const names = [...OPTIONS, ...Object.keys(options), "type", "options"];
          expect(names.some((one) => message.startsWith(one.slice(0, 100)))).toBe(true);
        }
        if (count++ % 20 === 0) await next(count);
      }),
      { numRuns: process.env["FUZZ"] === "long" ? 20_000 : 150 },
    );
    await next(count);
  }, 600_000);

  test(`[S-26.schema] ${backend}: submissions that go around the options are looked at as well`, async () => {
    const unfit = { estimateMs: 1.5, runAt: 0.5, priority: 7, maxAttempts: Number.NaN, backoffMs: -1 };
    for (const [name, value] of Object.entries(unfit)) {
      const raw = aSubmission({ type: "add", payload: '{"a":1}', [name]: value });
      await expect(orrery.api.submit(localCaller("default"), [raw])).rejects.toThrow(`${name} must be`);
    }
    await next(1);
  });

  test(`[S-26.schema] ${backend}: ids that are none are ids of no task`, async () => {
    for (const id of ["", "\0", "\ud800", "x".repeat(1e6), undefined, null, 5, {}] as string[]) {
      expect(await orrery.task(id)).toBeUndefined();
      expect(await orrery.why(id)).toBeUndefined();
      expect(await orrery.cancel(id)).toBe(false);
      await expect(orrery.result(id)).rejects.toThrow(RangeError);
    }
    await next(1);
  });
}

test("[S-26.schema] what is wrong is said in the words of the caller, and fractions of a millisecond are rounded", async () => {
  await using orrery = await open({ store: "memory" });
  const refusals: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ priority: 7 }, "priority must be <= 4; got 7"],
    [{ priority: "high" }, 'priority must be a whole number from 0 to 4; got "high"'],
    [{ estimateMs: -1 }, "estimateMs must be > 0, for example 30000; got -1"],
    [{ estimateMs: Number.NaN }, "estimateMs must be a number, for example 30000; got NaN"],
    [{ runAt: -5 }, "runAt must be >= 0, for example 1772359200000; got -5"],
    [
      { deadline: 9e15 },
      "deadline must be <= 253402300799999, for example 1772359200000; got 9000000000000000",
    ],
    [{ maxAttempts: 1.5 }, "maxAttempts must be a whole number from 1 to 101, for example 3; got 1.5"],
    [{ budget: { ops: -1 } }, "budget.ops must be >= 0; got -1"],
    [
      { limits: new Map([["a", 1]]) },
      "limits is a Map, which JSON cannot carry: give Object.fromEntries(map), or a list",
    ],
    [{ estimate: 5 }, 'estimate is not known; did you mean "estimateMs"?'],
  ];
  for (const [options, message] of refusals)
    await expect(orrery.submit("t", {}, options as TaskOptions)).rejects.toThrow(new TypeError(message));
  await expect(open({ slots: 1.5 })).rejects.toThrow("slots must be a whole number from 1 to 10000; got 1.5");
  await expect(orrery.submit("t", {}, "high" as TaskOptions)).rejects.toThrow("options must be an object");
  await expect(orrery.submit("a\nb")).rejects.toThrow(/^type must be one line of text/);
  await expect(orrery.submit("t", { text: "x".repeat(2 ** 20) })).rejects.toThrow(
    "payload must fit into 1 MiB",
  );
  const at = Date.now() + 60_000;
  const id = await orrery.submit(
    "t",
    {},
    { estimateMs: 1.5, runAt: at + 0.5, backoffMs: 0.2, timeoutMs: 0.2 },
  );
  expect(await orrery.task(id)).toMatchObject({ estimateMs: 2, runAt: at + 1 });
});
