import { randomBytes } from "node:crypto";
import { link, lstat, open, readFile, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { makeDirectory } from "./make-directory.ts";

/**
 * Returns the text in a file that holds a secret, without blanks around it; undefined if there is no such file. Throws if
 * others than its owner may read the file.
 */
export async function readSecretFile(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return undefined;
  if (!found.isFile() || (found.mode & 0o077) !== 0)
    throw new Error(`${path} must be a file that only its owner can read; use chmod 600 ${path}`);
  return (await readFile(path, "utf8")).trim();
}

/**
 * Writes a secret into a file that only its owner can read. The file appears as a whole or not at all. Returns false if it is
 * there already and must not be replaced.
 */
export async function writeSecretFile(
  path: string,
  secret: string,
  how: "add" | "replace",
): Promise<boolean> {
  const temporary = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await makeDirectory(dirname(path));
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(`${secret}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (how === "replace") await rename(temporary, path);
    else await link(temporary, path);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw cause;
  } finally {
    await unlink(temporary).catch(() => {});
  }
}
