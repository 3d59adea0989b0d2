import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * A directory, with those above it that are missing.
 *
 * `mkdir` with `recursive` never ends where a file system refuses a directory whose parent is there, like /proc: it turns on a
 * thread that no signal reaches.
 */
export async function makeDirectory(path: string, mode?: number): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) return;
  if (!found && dirname(path) !== path) await makeDirectory(dirname(path), mode);
  try {
    await mkdir(path, { mode });
  } catch (cause) {
    // Somebody else was faster.
    const made = await stat(path).catch(() => undefined);
    if (!made?.isDirectory()) throw cause;
  }
}
