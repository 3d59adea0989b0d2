import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const main = fileURLToPath(new URL("../bench/main.mjs", import.meta.url));

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function bench(...args: readonly string[]): Promise<Finished> {
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

test("a small run of the benchmark of decisions gives figures, and its ledgers are decided again", {
  timeout: 180_000,
}, async () => {
  const { code, stdout, stderr } = await bench("decisions", "--quick", "--json");
  expect(stderr).not.toContain("FAILED");
  expect(code).toBe(0);
  const report = JSON.parse(stdout);
  expect(report.bench).toBe("decisions");
  expect(report.machine).toMatchObject({ cores: expect.any(Number), node: process.versions.node });
  for (const row of report.results) {
    expect(row).toMatchObject({
      case: expect.any(String),
      metric: expect.any(String),
      unit: expect.any(String),
      value: expect.any(Number),
    });
    expect("met" in row).toBe("goal" in row);
    // Neither goals nor peers are judged by small sizes, and a peer that is missing has no figure.
    expect(row).not.toHaveProperty("ratio");
    if ("peer" in row) expect("peerValue" in row).toBe(!row.peer.includes("missing"));
  }
  expect(report.results.at(-1)).toMatchObject({ case: "verify --redecide", met: true });
});

test("a benchmark that there is not is refused with a list of those that there are", async () => {
  const { code, stdout, stderr } = await bench("nonsense");
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/There is no benchmark nonsense\.\n(.*\n)* {2}decisions .*\n(.*\n)* {2}all /);
});
