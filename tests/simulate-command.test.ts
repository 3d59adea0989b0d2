import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ChainVerifier } from "../src/ledger/index.ts";
import { directoryWith, orrery } from "./cli.ts";

test("[P-18] orrery simulate says how many seeds held, and how much happened in them", async () => {
  const { code, stdout, stderr } = await orrery(await directoryWith({}), "simulate", "--seeds", "1..3");
  expect(stdout).toMatch(/every invariant held in 3 seeds/);
  expect(stdout).toMatch(/virtual hours +\d/);
  expect(stdout).toMatch(/message lost +[\d,]+/);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("[P-18] orrery simulate prints its result as JSON", async () => {
  const { stdout } = await orrery(await directoryWith({}), "simulate", "--seeds", "4..5", "--json");
  expect(JSON.parse(stdout)).toMatchObject({
    ok: true,
    from: 4,
    to: 5,
    seeds: 2,
    failure: null,
    missing: [],
  });
});

test("[P-15] orrery simulate writes the ledger of a seed, and it verifies", async () => {
  const directory = await directoryWith({});
  const { code } = await orrery(directory, "simulate", "--seeds", "6..6", "--ledger", "six.ledger");
  expect(code).toBe(0);
  const lines = readFileSync(join(directory, "six.ledger"), "utf8").trimEnd().split("\n");
  const chain = new ChainVerifier();
  expect(lines.map((line) => "hash" in chain.accept(line))).toEqual(lines.map(() => true));
  expect(chain.head.seq).toBeGreaterThan(lines.length);
});

test.each([
  ["5", "--seeds takes a range like 1..500"],
  ["9..1", "is empty: the first seed comes after the last"],
  ["1..x", "--seeds takes a range like 1..500"],
])("orrery simulate --seeds %s is refused with exit code 2", async (range, message) => {
  const { code, stdout, stderr } = await orrery(await directoryWith({}), "simulate", "--seeds", range);
  expect(stderr).toContain(message);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
});

test("orrery simulate --ledger takes a single seed", async () => {
  const { code, stderr } = await orrery(
    await directoryWith({}),
    "simulate",
    "--ledger",
    "x",
    "--seeds",
    "1..2",
  );
  expect(stderr).toContain("--ledger takes the ledger of one seed");
  expect(code).toBe(2);
});
