// Makes sure that there is a Chromium for the tests of the dashboard: one that is installed, or one that is installed
// now where we may.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { findChromium } from "./find-chromium.mjs";
import { runQuietly } from "./run.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

if (!findChromium()) {
  if (process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) await installByApt();
  if (!findChromium()) {
    process.stderr.write(
      "The tests of the dashboard need Chromium. Install it, on Debian with\n" +
        "  apt-get install chromium\n" +
        "or say where it is: CHROMIUM=/path/to/chromium\n",
    );
    process.exit(1);
  }
}

async function installByApt() {
  process.stderr.write("installing Chromium…\n");
  process.env["DEBIAN_FRONTEND"] = "noninteractive";
  await runQuietly(root, "apt-get", ["update", "--quiet"]);
  await runQuietly(root, "apt-get", ["install", "--yes", "--no-install-recommends", "chromium"]);
}
