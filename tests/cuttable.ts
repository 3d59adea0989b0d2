import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A way to PostgreSQL that can be cut, now, or after the server got the next commit, or before; or that falls silent. */
export class Cuttable implements AsyncDisposable {
  cut: "never" | "question" | "answer" = "never";
  onCut: () => Promise<void> = async () => {};
  url = "";
  #server: Server | undefined;
  #socketDir = "";
  readonly #nears = new Set<Socket>();
  #isFrozen = false;

  static async to(url: string): Promise<Cuttable> {
    const way = new Cuttable();
    const socketDir = await mkdtemp(join(tmpdir(), "orrery-way-"));
    way.#socketDir = socketDir;
    const target = join(new URL(url.replace("@/", "@x/")).searchParams.get("host") ?? "", ".s.PGSQL.5432");
    way.#server = createServer((near) => way.#join(near, connect(target)));
    way.#server.listen(join(socketDir, ".s.PGSQL.5432"));
    await once(way.#server, "listening");
    way.url = url.replace(/host=.*$/, `host=${encodeURIComponent(socketDir)}`);
    return way;
  }

  /** Cuts all connections; the server hears of it when it next looks. */
  cutNow(): void {
    for (const near of this.#nears) near.destroy();
    this.#nears.clear();
  }

  /** Whoever is connected, or connects, no longer gets an answer. */
  freeze(): void {
    this.#isFrozen = true;
    for (const near of this.#nears) near.pause();
  }

  #join(near: Socket, far: Socket): void {
    this.#nears.add(near);
    if (this.#isFrozen) return;
    let isCommit = false;
    const cutBoth = () => {
      this.cut = "never";
      void this.onCut().finally(() => {
        near.destroy();
        far.destroy();
      });
    };
    near.on("data", (bytes) => {
      isCommit = bytes.includes("orrery commit");
      if (isCommit && this.cut === "question") cutBoth();
      else far.write(bytes);
    });
    far.on("data", (bytes) => {
      if (isCommit && this.cut === "answer") cutBoth();
      else near.write(bytes);
    });
    near.on("close", () => far.destroy()).on("error", () => {});
    far.on("close", () => near.destroy()).on("error", () => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server?.close();
    this.cutNow();
    await rm(this.#socketDir, { recursive: true, force: true });
  }
}
