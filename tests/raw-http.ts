// Bytes to a port, and what comes back: for what no client of HTTP would send.

import { connect, type Socket } from "node:net";
import { Compile } from "typebox/schema";
import { ProblemDocument } from "../src/protocol/api-schemas.ts";

export interface RawAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

export interface Exchange {
  /** In the order in which they came; whatever is none makes this throw. */
  answers(): RawAnswer[];
  /** The statuses of the answers, also of those without a body (HEAD) and of 100 Continue. */
  readonly statuses: readonly number[];
  readonly isClosed: boolean;
}

interface ExchangeOptions {
  /** Whether we say that no more comes. */
  readonly ends?: boolean;
  /** Whether we go on when the server has ended its own. */
  readonly lingers?: boolean;
  /** Enough is there when it holds. */
  readonly until?: (text: string) => boolean;
  readonly withinMs?: number;
}

/** Sends the parts one after the other and reads until the connection is closed, or enough is there. */
export async function exchange(
  port: number,
  parts: string | readonly string[],
  { ends = false, lingers = false, until = () => false, withinMs = 8_000 }: ExchangeOptions = {},
): Promise<Exchange> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: lingers });
  let text = "";
  const isClosed = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), withinMs);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(true);
    });
    socket.on("error", () => {});
    // Whether the other side is gone is only seen by who goes on talking to it.
    if (lingers) socket.on("end", () => setInterval(() => socket.write(" "), 200).unref());
    socket.on("data", (data) => {
      text += data.toString("latin1");
      if (!until(text)) return;
      clearTimeout(timer);
      resolve(false);
    });
    void send(socket, [parts].flat(), ends);
  });
  socket.destroy();
  const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status));
  return { isClosed, statuses, answers: () => [...answersIn(text)] };
}

async function send(socket: Socket, parts: readonly string[], ends: boolean): Promise<void> {
  for (const part of parts) {
    if (socket.destroyed) return;
    socket.write(part, "latin1");
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (ends) socket.end();
}

function* answersIn(text: string): Generator<RawAnswer> {
  for (let rest = text; rest !== ""; ) {
    const [, status, head] = /^HTTP\/1\.1 (\d{3}) [^\r]*\r\n(.*?\r\n)\r\n/s.exec(rest) ?? [];
    if (status === undefined || head === undefined)
      throw new Error(`no answer: ${JSON.stringify(rest.slice(0, 300))}`);
    const start = rest.indexOf("\r\n\r\n") + 4;
    const length = Number(/^content-length: (\d+)\r$/im.exec(head)?.[1] ?? 0);
    const type = /^content-type: ([^;\r]*)/im.exec(head)?.[1] ?? "";
    yield { status: Number(status), type, body: rest.slice(start, start + length) };
    rest = rest.slice(start + length);
  }
}

const problem = Compile(ProblemDocument);

/** What is wrong with an answer that says what was wrong; undefined: nothing. */
export function problemFault({ status, type, body }: RawAnswer): string | undefined {
  if (type !== "application/problem+json") return `${status} as ${type}: ${body.slice(0, 200)}`;
  const document = JSON.parse(body) as { status?: number; request_id?: string };
  if (!problem.Check(document)) return `no problem document: ${body}`;
  if (document.status !== status) return `status ${status}, but says ${document.status}`;
  return document.request_id === "" ? "has no request id" : undefined;
}
