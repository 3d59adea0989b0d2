import { stat } from "node:fs/promises";
import { join } from "node:path";
import { isLocked } from "../lock.ts";
import { majorOf, urlOf } from "./cluster.ts";
import { isPostmasterOf, readPidFile } from "./postmaster.ts";

/** A data directory as it lies there; nothing in it is changed. */
export interface DataDirFacts {
  /** The major version of the PostgreSQL that made the data; undefined: there is none yet. */
  readonly major: number | undefined;
  /** Of the PostgreSQL that runs on it. */
  readonly pid: number | undefined;
  /** For psql too, while it runs. */
  readonly url: string | undefined;
  /** A server uses it at this moment. */
  readonly isInUse: boolean;
  /** What a crash left behind, by file. */
  readonly leftovers: readonly string[];
}

export async function inspectDataDir(dataDir: string): Promise<DataDirFacts> {
  const clusterDir = join(dataDir, "postgres");
  const found = await readPidFile(clusterDir);
  const runs = found !== undefined && (await isPostmasterOf(found.pid, clusterDir));
  const isUnfinished = (await stat(`${clusterDir}.new`).catch(() => undefined)) !== undefined;
  return {
    major: await majorOf(clusterDir),
    pid: runs ? found.pid : undefined,
    url: runs ? urlOf(found.socketDir) : undefined,
    isInUse: await isLocked(clusterDir),
    leftovers: [
      ...(found && !runs ? [join(clusterDir, "postmaster.pid")] : []),
      ...(isUnfinished ? [`${clusterDir}.new`] : []),
    ],
  };
}
