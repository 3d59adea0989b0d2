import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type GraphFile, readGraphFile } from "./index.ts";

const EXAMPLES = new URL("../../examples/", import.meta.url);

function example(fileName: string): GraphFile {
  const result = readGraphFile(readFileSync(new URL(fileName, EXAMPLES)), fileName);
  expect(result).toMatchObject({ ok: true });
  return (result as { graph: GraphFile }).graph;
}

test("every example that is a graph can be read", () => {
  const files = readdirSync(EXAMPLES).filter((name) => /\.(ya?ml|json)$/.test(name));
  expect(files).toEqual(expect.arrayContaining(["hello.yaml", "retry.yaml", "wide.yaml"]));
  for (const name of files) example(name);
});

test("the commands of hello count the words of their text", () => {
  const dir = mkdtempSync(join(tmpdir(), "orrery-examples-"));
  try {
    const outputs = new Map(
      example("hello.yaml").nodes.map(({ spec, work }) => {
        expect(work.kind).toBe("command");
        const command = work.kind === "command" ? work.command : "";
        const env = { PATH: process.env["PATH"], TMPDIR: dir, ORRERY_RUN_ID: "r1", ORRERY_ATTEMPT: "1" };
        const { status, stdout } = spawnSync("sh", ["-c", command], { env, cwd: EXAMPLES, encoding: "utf8" });
        expect([spec.id, status]).toEqual([spec.id, 0]);
        return [spec.id, stdout];
      }),
    );
    expect(outputs.get("report")).toBe("4 lines, 13 words; most often: 5 the\n");
    expect(readdirSync(dir)).toEqual([]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("the flaky node of retry succeeds at its second attempt", () => {
  const flaky = example("retry.yaml").nodes.find((node) => node.spec.id === "flaky");
  const command = flaky?.work.kind === "command" ? flaky.work.command : "";
  const attempt = (n: number): number | null =>
    spawnSync("sh", ["-c", command], { env: { PATH: process.env["PATH"], ORRERY_ATTEMPT: String(n) } })
      .status;
  expect([attempt(1), attempt(2)]).toEqual([1, 0]);
  expect(flaky?.spec.task.maxAttempts).toBeGreaterThanOrEqual(2);
});

test("wide is a fan-out of twenty and a join", () => {
  const { nodes } = example("wide.yaml");
  expect(nodes.filter((node) => node.spec.needs.join() === "split")).toHaveLength(20);
  expect(nodes.find((node) => node.spec.id === "join")?.spec.needs).toHaveLength(20);
});
