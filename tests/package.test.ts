import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

test("the lock file names no place to fetch packages from, so any mirror serves it", () => {
  expect(read("package-lock.json")).not.toMatch(/"resolved"|https?:\/\/[^"]*\.tgz/);
});

test("every dependency is pinned to one version", () => {
  const manifest = JSON.parse(read("package.json")) as Manifest;
  const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
});

function read(name: string): string {
  return readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
}
