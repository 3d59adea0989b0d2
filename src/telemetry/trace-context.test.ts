import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { addSpan, inSpan, isTraced } from "./spans.ts";
import { readTraceContext } from "./trace-context.ts";

const ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const GOOD = `00-${ID}-${SPAN}-01`;

test.each([
  [GOOD, GOOD],
  [`00-${ID}-${SPAN}-00`, `00-${ID}-${SPAN}-00`],
  [`00-${ID}-${SPAN}-ff`, GOOD],
  // A later version is read as far as this one goes.
  [`cc-${ID}-${SPAN}-01`, GOOD],
  [`cc-${ID}-${SPAN}-01-what-is-to-come`, GOOD],
])("%s is read as %s", (text, read) => {
  expect(readTraceContext(text)).toEqual({ traceparent: read });
});

test.each([
  "",
  "00",
  `00-${ID}-${SPAN}`,
  `00-${ID}-${SPAN}-1`,
  `00-${ID}-${SPAN}-01-more`,
  `00-${ID}-${SPAN}-01.`,
  `cc-${ID}-${SPAN}-01.more`,
  `ff-${ID}-${SPAN}-01`,
  `0-${ID}-${SPAN}-01`,
  `00-${ID.toUpperCase()}-${SPAN}-01`,
  `00-${"0".repeat(32)}-${SPAN}-01`,
  `00-${ID}-${"0".repeat(16)}-01`,
  `00-${ID.slice(1)}-${SPAN}-01`,
  `00-${ID}-${SPAN}-0x`,
  ` ${GOOD}`,
  `${GOOD}, ${GOOD}`,
  `${GOOD}\n`,
  undefined,
  7,
  [GOOD],
])("%j is as if it were not there", (text) => {
  expect(readTraceContext(text, "a=1")).toBeUndefined();
});

test.each([
  ["a=1", "a=1"],
  ["a=1,b=2", "a=1,b=2"],
  [" a=1 ,\tb=2,, ", "a=1,b=2"],
  ["tenant@system=v=1", undefined],
  ["0tenant@system=v", "0tenant@system=v"],
  ["a=1,a=2", undefined],
  ["A=1", undefined],
  ["a", undefined],
  ["=1", undefined],
  ["a=", undefined],
  ["a=ü", undefined],
  ["", undefined],
  [`a=${"x".repeat(600)}`, undefined],
  [Array.from({ length: 33 }, (_, at) => `k${at}=1`).join(","), undefined],
  [undefined, undefined],
])("the state %j is read as %j, and a bad one loses only itself", (text, read) => {
  expect(readTraceContext(GOOD, text)).toEqual({ traceparent: GOOD, ...(read && { tracestate: read }) });
});

test("without OpenTelemetry in the process work is done as it is, and nothing of it is loaded", async () => {
  expect(isTraced()).toBe(false);
  const parent = { traceparent: GOOD };
  const options = { kind: "PRODUCER", parent, attributes: {} } as const;
  expect(await inSpan("a", options, async (trace) => trace)).toBe(parent);
  addSpan("b", 1, {});
  // But its interface, which the library for metrics takes along.
  const door = new URL("../../dist/index.js", import.meta.url).href;
  const script = `
    import { createRequire } from "node:module";
    const { open, task } = await import("${door}");
    const orrery = await open({ store: "memory", tasks: { add: task(({ a, b }) => a + b) } });
    const sum = await orrery.result(await orrery.submit("add", { a: 1, b: 2 }));
    await orrery.close();
    const loaded = Object.keys(createRequire("${door}").cache).filter((path) => /@opentelemetry.(?!api.build)/.test(path));
    console.log(JSON.stringify([sum, loaded]));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  expect(JSON.parse(stdout)).toEqual([3, []]);
});
