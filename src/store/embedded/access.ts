/**
 * Who may connect to the private PostgreSQL: the user of the server, and roles with passwords that the operator made.
 *
 * PostgreSQL asks the kernel who is at the other end of its socket (peer authentication), so there is no password that a
 * file or an environment could give away. Where the server runs as root, PostgreSQL runs as another user; other processes of
 * that user are refused too.
 */

import { randomBytes } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import type { Owner } from "./owner.ts";

/** The superuser of the private PostgreSQL. */
export const SUPERUSER = "orrery";

const MAP = "server";
const HEADER = "# Written by Orrery when it starts PostgreSQL; changes are overwritten.\n";

/** Writes the rules for connections, also into data that was made with other rules. Returns whether they changed. */
export async function restrictAccess(clusterDir: string, owner: Owner | undefined): Promise<boolean> {
  const rules = [
    `local all,replication ${SUPERUSER} peer map=${MAP}`,
    // Roles that the operator made, such as that of a program that submits tasks in its own transactions.
    "local all all scram-sha-256",
  ];
  const user = userInfo().username.replaceAll('"', '""');
  const files = {
    "pg_ident.conf": `${HEADER}${MAP} "${user}" ${SUPERUSER}\n`,
    "pg_hba.conf": `${HEADER}${rules.join("\n")}\n`,
  };
  let isChanged = false;
  for (const [name, text] of Object.entries(files)) {
    const file = join(clusterDir, name);
    if ((await readFile(file, "utf8").catch(() => "")) === text) continue;
    await replace(file, text, owner);
    isChanged = true;
  }
  return isChanged;
}

/** The folder belongs to PostgreSQL's user, who could have put a link in the place of the file: it is never written through. */
async function replace(file: string, text: string, owner: Owner | undefined): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(text);
      if (owner) await handle.chown(owner.uid, owner.gid);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
}

/**
 * The environment of PostgreSQL. Under root it runs as another user, and all processes of that user can read it: it must hold
 * none of the server's keys.
 */
export function postgresEnvironment(): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "/usr/bin:/bin", LANG: "C" };
}
