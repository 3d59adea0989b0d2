import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
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

/**
 * The built dashboard by path; empty if it was not built. It is read when this module is loaded, because the installed
 * package may be replaced while a server runs. A file is compressed when it is first asked for.
 */
const FILES: ReadonlyMap<string, Buffer> = readAll();
const served = new Map<string, Promise<DashboardFile>>();

/** Returns a file of the dashboard, or undefined if there is none of that name. */
export async function dashboardFile(path: string): Promise<DashboardFile | undefined> {
  const plain = FILES.get(path);
  if (!plain) return undefined;
  const file = served.get(path) ?? fileOf(path, plain);
  served.set(path, file);
  return await file;
}

function readAll(): ReadonlyMap<string, Buffer> {
  const folder = FOLDERS.map((path) => new URL(path, import.meta.url)).find((url) =>
    existsSync(new URL("index.html", url)),
  );
  if (!folder) return new Map();
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const known = names.filter((name) => TYPES[extname(name)] !== undefined);
  return new Map(known.map((name) => [name, readFileSync(new URL(name, folder))]));
}

async function fileOf(name: string, plain: Buffer): Promise<DashboardFile> {
  return {
    type: TYPES[extname(name)] as string,
    plain,
    zipped: await promisify(gzip)(plain, { level: 9 }),
    etag: `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`,
  };
}
