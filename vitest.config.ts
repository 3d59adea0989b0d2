import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What takes longest, so that nothing long begins when all others have ended. */
const FIRST = [
  "chaos",
  "planted-bugs",
  "bench",
  "service-cli",
  "cluster",
  "run",
  "webhooks-killed",
  "schedules",
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
    // Processes, not threads: tests start workers and change directories.
    pool: "forks",
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    projects: [
      // Reading the same modules again for each of many small files took a minute.
      { extends: true, test: { name: "parts", include: ["src/**/*.test.ts"], isolate: false } },
      { extends: true, test: { name: "whole", include: ["tests/**/*.test.ts"] } },
    ],
  },
});
