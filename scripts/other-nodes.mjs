// Prints the path of a Node of another major version, fetching it first if needed:
//
//   node scripts/other-nodes.mjs 22
//
// For the tests that compare decisions across versions of Node. The packages that carry these binaries
// name their command `node`, so as dependencies they would replace `node` in every npm script; and they
// weigh 180 MB each. Exits with a code other than 0 when there is none for this platform, or no network.

import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withLock } from "./lock.mjs";
import { npm, runQuietly } from "./run.mjs";

/** @type {Record<string, string>} */
const VERSIONS = { 22: "22.23.3", 24: "24.21.0" };

const major = process.argv[2] ?? "";
const version = VERSIONS[major];
if (!version) {
  process.stderr.write(`usage: node scripts/other-nodes.mjs ${Object.keys(VERSIONS).join("|")}\n`);
  process.exit(2);
}

const nodes = fileURLToPath(new URL("../.cache/nodes", import.meta.url));
const binary = join(nodes, version, "node");

if (!existsSync(binary)) {
  await withLock(join(nodes, `${version}.lock`), async () => {
    if (!existsSync(binary)) await fetchNode(version);
  });
}
process.stdout.write(`${binary}\n`);

/** @param {string} version */
async function fetchNode(version) {
  process.stderr.write(`fetching Node ${version}…\n`);
  const carrier = `node-${process.platform}-${process.arch}`;
  const scratch = join(nodes, `${version}.scratch`);
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  const flags = [
    "--no-save",
    "--no-package-lock",
    "--no-bin-links",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
  ];
  await runQuietly(scratch, ...npm("install", "--prefix", scratch, ...flags, `${carrier}@${version}`));
  mkdirSync(join(nodes, version), { recursive: true });
  // Last and in one move: what stands there is whole.
  renameSync(join(scratch, "node_modules", carrier, "bin", "node"), binary);
  rmSync(scratch, { recursive: true });
}
