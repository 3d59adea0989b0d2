// A real PgBouncer in front of the shared PostgreSQL of the tests.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";

const run = promisify(execFile);
/** Debian keeps it where not every user's path leads. */
const PATH = `${process.env["PATH"] ?? ""}:/usr/sbin`;

const ROLE = "pooled";

export class PgBouncer implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #port: string;

  private constructor(child: ChildProcess, folder: string, port: string) {
    this.#child = child;
    this.#folder = folder;
    this.#port = port;
  }

  static async isInstalled(): Promise<boolean> {
    return run("pgbouncer", ["--version"], { env: { PATH } }).then(
      () => true,
      () => false,
    );
  }

  /** Pools the connections to the PostgreSQL whose socket is in the folder that the URL names. */
  static async before(url: string, mode: "session" | "transaction"): Promise<PgBouncer> {
    const admin = new pg.Client({ connectionString: url });
    const { host } = admin;
    await admin.connect();
    // Only this process's user may connect as the superuser of a private PostgreSQL; others need a password.
    await admin.query(`
      do $$ begin
        create role ${ROLE} login superuser password 'pooled';
      exception when duplicate_object then null;
      end $$`);
    await admin.end();
    const folder = await mkdtemp(join(tmpdir(), "orrery-pgb-"));
    await chmod(folder, 0o777);
    const port = "6432";
    const config = [
      "[databases]",
      `* = host=${host} port=5432`,
      "[pgbouncer]",
      "listen_addr =",
      `listen_port = ${port}`,
      `unix_socket_dir = ${folder}`,
      "auth_type = trust",
      `auth_file = ${join(folder, "users")}`,
      `pool_mode = ${mode}`,
      "default_pool_size = 20",
      "ignore_startup_parameters = extra_float_digits",
    ];
    await writeFile(join(folder, "users"), `"${ROLE}" "pooled"\n`);
    await writeFile(join(folder, "pgbouncer.ini"), `${config.join("\n")}\n`);
    // It refuses to run as root, and only the owner of PostgreSQL's socket may use that.
    const { uid, gid } = await stat(host);
    const asUser =
      process.getuid?.() === 0 ? ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"] : [];
    const [program = "", ...args] = [...asUser, "pgbouncer", "--quiet", join(folder, "pgbouncer.ini")];
    const child = spawn(program, args, { env: { PATH }, stdio: "inherit" });
    const bouncer = new PgBouncer(child, folder, port);
    await bouncer.#answers(url);
    return bouncer;
  }

  /** The URL of the same database by way of the pool. */
  urlOf(url: string): string {
    const { database } = new pg.Client({ connectionString: url });
    return `postgresql://${ROLE}@/${database}?host=${encodeURIComponent(this.#folder)}&port=${this.#port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #answers(url: string): Promise<void> {
    for (let tries = 1; ; tries++) {
      const client = new pg.Client({ connectionString: this.urlOf(url) });
      try {
        await client.connect();
        await client.query("select 1");
        return;
      } catch (error) {
        if (this.#child.exitCode !== null || tries === 200) throw error;
        await sleep(20);
      } finally {
        await client.end().catch(() => {});
      }
    }
  }
}
