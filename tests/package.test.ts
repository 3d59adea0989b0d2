import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { MAIN } from "./cli.ts";

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

test("the lock file names no place to fetch packages from, so any mirror serves it", () => {
  // The workspace is linked to where it stands.
  const lock = read("package-lock.json").replace('"resolved": "dashboard"', "");
  expect(lock).not.toMatch(/"resolved"|https?:\/\/[^"]*\.tgz/);
});

test("every dependency is pinned to one version", () => {
  const manifests = ["package.json", "dashboard/package.json"].map(
    (name) => JSON.parse(read(name)) as Manifest,
  );
  const versions = manifests.flatMap(({ dependencies, devDependencies }) =>
    Object.entries({ ...dependencies, ...devDependencies }),
  );
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
});

function read(name: string): string {
  return readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
}

test("what is deployed starts what there is", () => {
  const dockerfile = read("deploy/Dockerfile");
  for (const [, source = ""] of dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)) {
    for (const path of source.split(" "))
      expect(existsSync(new URL(`../${path}`, import.meta.url)), path).toBe(true);
  }
  expect(dockerfile).toMatch(/^USER node$/m);
  const command = /^CMD (\[.+\])$/m.exec(dockerfile)?.[1] ?? "[]";
  const starts = [
    ["orrery", ...(JSON.parse(command) as string[])],
    ...["orrery", "orrery-worker"].map((unit) =>
      (/^ExecStart=\/usr\/bin\/env (.+)$/m.exec(read(`deploy/${unit}.service`))?.[1] ?? "").split(" "),
    ),
  ];
  for (const [program, name, ...options] of starts) {
    expect(program).toBe("orrery");
    const { stdout } = spawnSync(process.execPath, [MAIN, name ?? "", "--help"], { encoding: "utf8" });
    for (const option of options.filter((word) => word.startsWith("--")))
      expect(stdout, name).toContain(option);
  }
});
