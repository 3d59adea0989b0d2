// The package as its users get it: packed, installed in an empty directory, run and imported.

import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { cp, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { directoryWith } from "./cli.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const KEY = "sk-packed-0123456789-and-0123456789";
const run = promisify(execFile);
/** The npm of the Node that runs this. */
const npm = (cwd: string, ...args: readonly string[]) => run("npm", args, { cwd, maxBuffer: 32 << 20 });

const PACKED_FROM = [
  "dist",
  "docs",
  "deploy",
  "examples",
  "scripts",
  "dashboard/package.json",
  "package.json",
  "package-lock.json",
  ".npmrc",
  "CHANGELOG.md",
  "LICENSE",
  "README.md",
];

let cwd: string;
/** The package itself, with the packages of its shrinkwrap, as in the image. */
let locked: string;
let files: readonly string[];

beforeAll(async () => {
  cwd = await directoryWith({ "package.json": '{"private": true, "type": "module"}' });
  // In the checkout the shrinkwrap would be in the way of other tests: npm reads it instead of the lock file.
  const folder = await directoryWith({});
  for (const name of PACKED_FROM) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  await run(process.execPath, [join(folder, "scripts", "shrinkwrap.mjs")]);
  const { stdout } = await npm(folder, "pack", "--json", "--ignore-scripts", "--pack-destination", cwd);
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  files = packed?.files.map(({ path }) => path) ?? [];
  // What an application gets, and all of it for this Node; packages that are known already are not fetched again.
  const flags = [
    "--engine-strict",
    "--prefer-offline",
    "--ignore-scripts",
    "--omit=optional",
    "--no-audit",
    "--no-fund",
  ];
  locked = await directoryWith({});
  await run("tar", ["-xzf", join(cwd, packed?.filename ?? ""), "-C", locked, "--strip-components=1"]);
  await npm(locked, "pkg", "delete", "devDependencies", "workspaces");
  await Promise.all([npm(cwd, "install", ...flags, `./${packed?.filename}`), npm(locked, "ci", ...flags)]);
}, 300_000);

test("it holds what is needed to run, and nothing else", () => {
  const expected =
    /^(dist\/.+\.(m?js|d\.ts|sql)|dist\/dashboard\/(index\.html|icon\.svg|assets\/[\w-]+\.css)|docs\/[\w-]+\.(md|yaml|schema\.json)|examples\/(data\/[\w-]+\/)?[\w.-]+|deploy\/[\w.-]+|package\.json|npm-shrinkwrap\.json|README\.md|CHANGELOG\.md|LICENSE)$/;
  expect(files.filter((path) => !expected.test(path))).toEqual([]);
  expect(files.filter((path) => /\.test\.|^tests|node_modules|\.map$/.test(path))).toEqual([]);
  expect(files).toEqual(expect.arrayContaining(["deploy/orrery.service", "deploy/Dockerfile"]));
  for (const folder of ["store/postgres/sql", "store/postgres/migrations"]) {
    for (const name of readdirSync(join(ROOT, "src", folder)))
      expect(files).toContain(`dist/${folder}/${name}`);
  }
});

test("[F15] npm ci in the package installs the versions of the lock file, also where newer ones would do", async () => {
  const { packages } = JSON.parse(await readFile(join(locked, "npm-shrinkwrap.json"), "utf8")) as {
    packages: Record<string, { version: string; optional?: boolean }>;
  };
  const { "": _root, ...all } = packages;
  const required = Object.entries(all).filter(([, { optional }]) => !optional);
  expect(required.length).toBeGreaterThan(50);
  for (const [path, { version }] of required) {
    const manifest = await readFile(join(locked, path, "package.json"), "utf8");
    expect([path, (JSON.parse(manifest) as { version: string }).version]).toEqual([path, version]);
  }
  const { stdout } = await run(process.execPath, [join(locked, "dist", "cli", "main.js"), "--version"]);
  expect(stdout).toMatch(/^\d/);
});

test("every export can be imported, and is typed", async () => {
  const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    exports: Record<string, { types: string; default: string }>;
  };
  for (const [name, { types }] of Object.entries(exports)) {
    expect(files).toContain(types.replace("./", ""));
    const program = `console.log(Object.keys(await import(${JSON.stringify(`orrery${name.slice(1)}`)})).length)`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program], { cwd });
    expect(Number(stdout), name).toBeGreaterThan(0);
  }
});

test("npx runs it: a server, a task, a result", async () => {
  const version = (JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string })
    .version;
  expect((await run("npx", ["--no-install", "orrery", "--version"], { cwd })).stdout.trim()).toBe(version);
  await writeFile(join(cwd, "use.mjs"), PROGRAM);
  const main = join(cwd, "node_modules", ".bin", "orrery");
  const env = {
    ...process.env,
    PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
    ORRERY_API_KEY: KEY,
  };
  const { stdout } = await run(process.execPath, ["use.mjs", main], { cwd, env });
  expect(JSON.parse(stdout)).toEqual({ served: { text: "hello" }, embedded: 3 });
}, 120_000);

/** Serves with the installed command, with the example tasks, and uses all three doors of the package. */
const PROGRAM = `
  import { spawn } from "node:child_process";
  import { once } from "node:events";
  import { createInterface } from "node:readline";
  import { open, task } from "orrery";
  import { OrreryClient } from "orrery/client";
  const server = spawn(process.argv[2], ["serve", "--store", "memory", "--port", "0", "--demo", "--json"],
    { stdio: ["ignore", "pipe", "inherit"] });
  process.on("exit", () => server.kill("SIGKILL"));
  let url;
  for await (const line of createInterface({ input: server.stdout })) {
    url = /"url": "(.+?)"/.exec(line)?.[1];
    if (url) break;
  }
  const client = new OrreryClient({ url, key: process.env.ORRERY_API_KEY });
  const served = await client.submitAndWait({ task_type: "echo", executor: "default", payload: { text: "hello" } });
  server.kill("SIGTERM");
  const [code] = await once(server, "exit");
  const orrery = await open({ store: "memory", tasks: { add: task(({ a, b }) => a + b) } });
  const embedded = await orrery.result(await orrery.submit("add", { a: 1, b: 2 }));
  await orrery.close();
  console.log(JSON.stringify(code === 0 ? { served, embedded } : { code }));
`;
