import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

export interface DashboardFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly zipped: Buffer;
  readonly etag: string;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Beside what is compiled; and where that is when the sources run as they are. */
const FOLDERS = ["../../dashboard/", "../../../dist/dashboard/"];

/** The built dashboard by path, read and compressed when it is first asked for; empty where it was not built. */
export class DashboardFiles {
  #files: Promise<ReadonlyMap<string, DashboardFile>> | undefined;

  async get(path: string): Promise<DashboardFile | undefined> {
    this.#files ??= readAll();
    return (await this.#files).get(path);
  }
}

async function readAll(): Promise<ReadonlyMap<string, DashboardFile>> {
  const folder = FOLDERS.map((path) => new URL(path, import.meta.url)).find((url) =>
    existsSync(new URL("index.html", url)),
  );
  if (!folder) return new Map();
  const names = await readdir(fileURLToPath(folder), { recursive: true });
  const known = names.filter((name) => TYPES[extname(name)] !== undefined);
  return new Map(await Promise.all(known.map(async (name) => [name, await read(folder, name)] as const)));
}

async function read(folder: URL, name: string): Promise<DashboardFile> {
  const plain = await readFile(new URL(name, folder));
  return {
    type: TYPES[extname(name)] as string,
    plain,
    zipped: await promisify(gzip)(plain, { level: 9 }),
    etag: `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`,
  };
}
