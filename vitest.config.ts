import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What takes longest, so that nothing long begins when all others have ended. */
const FIRST = [
  "chaos",
  "planted-bugs",
  "bench",
  "dashboard/tasks",
  "service-cli",
  "cluster",
  "run",
  "webhooks-killed",
  "schedules",
];

/** They measure time or memory, which what ran before them in the same process would change. */
const MEASURING = [
  "src/graph/problems.test.ts",
  "src/protocol/graph-file.test.ts",
  "src/scheduler/speed.test.ts",
  "src/scheduler/weights.test.ts",
  "src/server/event-stream.test.ts",
  "src/server/http/events.test.ts",
  "src/server/http/runs.test.ts",
  "src/server/http/walks.test.ts",
  "src/server/paced.test.ts",
  "src/sources/hostile.test.ts",
  "src/worker/large-garbage.test.ts",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification): number => {
      const place = FIRST.findIndex((name) => moduleId.endsWith(`/tests/${name}.test.ts`));
      return place === -1 ? FIRST.length : place;
    };
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b));
  }
}

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is waited for comes when the machine has time for it.
    expect: { poll: { timeout: 20_000 } },
    // Processes, not threads: tests start workers and change directories.
    pool: "forks",
    globalSetup: "./tests/temporary-folder.ts",
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    projects: [
      // Reading the same modules again for each of many small files took a minute.
      {
        extends: true,
        test: { name: "parts", include: ["src/**/*.test.ts"], exclude: MEASURING, isolate: false },
      },
      { extends: true, test: { name: "whole", include: ["tests/**/*.test.ts", ...MEASURING] } },
    ],
  },
});
