// The units for systemd: two users, keys from files, and little that either process may do.

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const file = (name: string): string => fileURLToPath(new URL(`../deploy/${name}.service`, import.meta.url));
const unit = async (name: string): Promise<string[]> => (await readFile(file(name), "utf8")).split("\n");

test("[F16] server and worker have users of their own, keys from files, and all restrictions that Node can take", async () => {
  const [server, worker] = [await unit("orrery"), await unit("orrery-worker")];
  for (const lines of [server, worker]) {
    for (const line of [
      "UMask=0077",
      "NoNewPrivileges=true",
      "CapabilityBoundingSet=",
      "ProtectSystem=strict",
      "ProtectHome=true",
      "ProtectProc=invisible",
      "PrivateTmp=true",
      "PrivateDevices=true",
      "ProtectKernelTunables=true",
      "ProtectKernelModules=true",
      "ProtectControlGroups=true",
      "RestrictNamespaces=true",
      "RestrictSUIDSGID=true",
      "SystemCallFilter=@system-service",
    ])
      expect(lines).toContain(line);
    expect(lines.filter((line) => /^MemoryMax=\d/.test(line))).toHaveLength(1);
    expect(lines.filter((line) => /^LoadCredential=/.test(line))).toHaveLength(1);
    // All processes of the user can see the variables of an EnvironmentFile.
    expect(lines.filter((line) => /^Environment=ORRERY_API_KEY_FILE=%d\//.test(line))).toHaveLength(1);
    // V8 compiles JavaScript while it runs.
    expect(lines.filter((line) => /^MemoryDenyWriteExecute/.test(line))).toEqual([]);
  }
  expect(server).toContain("User=orrery");
  expect(worker).toContain("User=orrery-worker");
  expect(worker).toContain("InaccessiblePaths=-/var/lib/orrery");
});

test("[F16] systemd finds nothing wrong with the units, and little exposure", async (context) => {
  const analyze = (...args: readonly string[]) => promisify(execFile)("systemd-analyze", [...args]);
  const version = await analyze("--version").then(
    ({ stdout }) => Number(/systemd (\d+)/.exec(stdout)?.[1]),
    () => 0,
  );
  if (version < 250) return context.skip();
  const { stderr } = await analyze("verify", file("orrery"), file("orrery-worker"));
  expect(stderr).toBe("");
  for (const name of ["orrery", "orrery-worker"]) {
    // In tenths; it fails where the exposure is higher.
    await analyze("security", "--offline=yes", "--threshold=20", file(name));
  }
});
