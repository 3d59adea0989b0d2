import { chown, readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { StoreError } from "../contract.ts";

/** Who runs PostgreSQL where we are root, as whom it refuses to run. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const NOBODY: Owner = { uid: 65_534, gid: 65_534 };

/** Undefined: we are not root, and it runs as us. */
export async function ownerOf(clusterDir: string): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  // Whoever ran it before must run it again: PostgreSQL wants to own its files.
  const before = await stat(clusterDir).catch(() => undefined);
  if (before && before.uid !== 0) return { uid: before.uid, gid: before.gid };
  const users = await readFile("/etc/passwd", "utf8").catch(() => "");
  const postgres = /^postgres:[^:]*:(\d+):(\d+):/m.exec(users);
  return postgres ? { uid: Number(postgres[1]), gid: Number(postgres[2]) } : NOBODY;
}

export async function giveTo(path: string, owner: Owner | undefined): Promise<void> {
  if (owner) await chown(path, owner.uid, owner.gid);
}

/** Says which folder keeps the other user from a path; PostgreSQL would only say "permission denied". */
export async function checkReachable(path: string, owner: Owner | undefined): Promise<void> {
  if (!owner) return;
  for (let folder = path; ; folder = dirname(folder)) {
    const { mode, uid, gid } = await stat(folder);
    const bit = uid === owner.uid ? 0o100 : gid === owner.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) {
      throw new StoreError(
        "unwritable",
        `PostgreSQL cannot run as root, and user ${owner.uid} may not enter ${folder}: choose another data ` +
          `directory, allow it with "chmod o+x ${folder}", or do not run as root`,
      );
    }
    if (dirname(folder) === folder) return;
  }
}
