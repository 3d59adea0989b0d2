// Workers that do whatever comes to mind: true reports and false ones, twice and for others, frames that are none, and
// ends without a word. Kept is what the server said that it accepted.

import { once } from "node:events";
import type { Socket } from "node:net";
import { type RawData, WebSocket } from "ws";
import type { Report, ServerMessage } from "../src/protocol/worker-messages.ts";
import type { Random } from "../src/simulator/random.ts";

interface Attempt {
  readonly task: string;
  readonly attempt: number;
}

/** What all rogues together know. */
export class Gang {
  readonly url: string;
  readonly key: string;
  /** Whatever any of them was given, so that each can speak for the others. */
  readonly given: Attempt[] = [];
  /** By task, the results that were accepted. */
  readonly accepted = new Map<string, string[]>();
  #results = 0;

  constructor(url: string, key: string) {
    this.url = url;
    this.key = key;
  }

  report(random: Random, { task, attempt }: Attempt): Report {
    const began = { task, attempt, started_at: random.pick([-1, 1, Date.now()]) };
    if (random.chance(0.6)) return { type: "finished", ...began, result: `rogue ${++this.#results}` };
    if (random.chance(0.5)) return { type: "timed_out", ...began };
    return { type: "failed", ...began, code: "rogue", message: "because" };
  }

  note(report: Report | undefined, accepted: boolean): void {
    if (!accepted || report?.type !== "finished") return;
    const { task, result } = report;
    this.accepted.set(task, [...(this.accepted.get(task) ?? []), String(result)]);
  }
}

export function registrationOf(id: string, session: string) {
  const sizes = { cpu_millicores: 1_000_000, memory_bytes: 2 ** 40, slots: 10 };
  return { protocol: 1 as const, id, session, executors: ["wild"], types: ["work"], ...sizes };
}

/** One connection of a rogue, from its beginning to whatever end. */
export async function liveOverSocket(gang: Gang, random: Random, id: string): Promise<void> {
  const socket = new WebSocket(`${gang.url.replace("http", "ws")}/worker/connect`, {
    headers: { authorization: `Bearer ${gang.key}` },
  });
  const closed = new Promise<unknown>((resolve) => socket.on("close", resolve));
  socket.on("error", () => {});
  await once(socket, "open");
  const rogue = new Rogue(gang, random, socket);
  if (random.chance(0.9)) rogue.register(id);
  for (let step = 0; step < 15 && socket.readyState === WebSocket.OPEN; step++) {
    rogue.act();
    await new Promise((resolve) => setTimeout(resolve, random.int(0, 15)));
  }
  if (random.chance(0.3)) rogue.say({ type: "leave" });
  else socket.terminate();
  // Who was cut off, or left, is closed by the server; a rogue does not wait for it for ever.
  const patience = setTimeout(() => socket.terminate(), 500);
  await closed;
  clearTimeout(patience);
}

class Rogue {
  readonly #gang: Gang;
  readonly #random: Random;
  readonly #socket: WebSocket;
  readonly #held: Attempt[] = [];
  readonly #sent = new Map<number, readonly Report[]>();
  #ref = 0;

  constructor(gang: Gang, random: Random, socket: WebSocket) {
    this.#gang = gang;
    this.#random = random;
    this.#socket = socket;
    socket.on("message", (data) => this.#hear(data));
  }

  register(id: string): void {
    const session = `${id}-session-${this.#random.int(1, 2)}`;
    this.say({ type: "register", registration: registrationOf(id, session), heartbeat: { attempts: [] } });
  }

  say(message: unknown): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  /** Mostly what a worker does; sometimes what none does, which ends the connection. */
  act(): void {
    const random = this.#random;
    const mine = () => (this.#held.length > 0 ? random.pick(this.#held) : undefined);
    const any = () => (this.#gang.given.length > 0 ? random.pick(this.#gang.given) : undefined);
    random.pick([
      ...new Array<() => void>(6).fill(() => this.#report([mine()])),
      () => this.#report([any(), any(), mine(), mine()]),
      () => this.#report(Array.from({ length: 1000 }, any)),
      () => this.#report([wrongAttempt(mine(), random), wrongAttempt(any(), random)]),
      () => this.#beat(),
      () => this.#chatter(),
      () => this.#misbehave(),
    ])();
  }

  #report(attempts: readonly (Attempt | undefined)[]): void {
    const reports = attempts.flatMap((one) => (one ? [this.#gang.report(this.#random, one)] : []));
    if (reports.length === 0) return;
    const ref = this.#random.chance(0.9) ? ++this.#ref : this.#ref;
    // Under a ref that was used before it is not known which answer is whose: those are not counted.
    if (this.#sent.has(ref)) this.#sent.set(ref, []);
    else this.#sent.set(ref, reports);
    const message =
      reports.length === 1 ? { type: "report", ref, report: reports[0] } : { type: "reports", ref, reports };
    this.say(message);
    if (this.#random.chance(0.2)) {
      this.#sent.set(ref, []);
      this.say(message);
    }
  }

  #beat(): void {
    const attempts = this.#random.some([...this.#held, ...this.#gang.given.slice(-5)], 0.7);
    const heartbeat = { attempts: attempts.map((one) => ({ ...one, started_at: -1 })), load: 1 };
    this.say({ type: "heartbeat", heartbeat });
  }

  #chatter(): void {
    for (let pings = this.#random.int(0, 500); pings > 0; pings--) this.#socket.ping("x".repeat(100));
    const [of] = this.#gang.given;
    if (!of) return;
    const entry = { ...of, at: 1, stream: "stdout", text: "\0\ud800" };
    this.say({ type: "log", entries: Array.from({ length: 100 }, () => entry) });
    this.say({ type: "progress", progress: { ...of, fraction: 0.5, message: "x".repeat(1000) } });
    // In pieces, as the protocol allows.
    for (const [at, part] of ['{"type":', '"heartbeat",', '"heartbeat":{"attempts":[]}}'].entries())
      this.#socket.send(part, { fin: at === 2 });
  }

  #misbehave(): void {
    const raw = (this.#socket as unknown as { readonly _socket: Socket })._socket;
    const reports = Array.from({ length: 1001 }, () => ({ type: "finished" }));
    this.#random.pick([
      () => this.#socket.send(Buffer.from("{}")),
      () => this.#socket.send("x".repeat(5 * 1024 * 1024)),
      () => this.say({ type: "reports", ref: 1, reports }),
      () => this.say({ type: "register" }),
      () => this.#socket.send(`${"[".repeat(5000)}${"]".repeat(5000)}`),
      () => this.#socket.send('{"type":"heartbeat","heartbeat":{"attempts":[]},"__proto__":{}}'),
      () => this.say({ type: "drain" }),
      ...RAW_FRAMES.map((bytes) => () => raw.write(Buffer.from(bytes))),
    ])();
  }

  #hear(data: RawData): void {
    const message = JSON.parse(String(data)) as ServerMessage;
    if (message.type === "assign") {
      for (const { task, attempt } of message.assignments) {
        this.#held.push({ task, attempt });
        this.#gang.given.push({ task, attempt });
      }
    }
    if (message.type === "ack") this.#gang.note(this.#sent.get(message.ref)?.[0], message.ack.accepted);
    if (message.type === "acks")
      for (const [at, { accepted }] of message.acks.entries())
        this.#gang.note(this.#sent.get(message.ref)?.[at], accepted);
  }
}

function wrongAttempt(one: Attempt | undefined, random: Random): Attempt | undefined {
  return one && { task: one.task, attempt: random.pick([1, one.attempt + 1, 2 ** 31]) };
}

const MASK = [0, 0, 0, 0] as const;
const RAW_FRAMES: readonly (readonly number[])[] = [
  // Invalid UTF-8, an unknown opcode, a reserved bit, no mask, a length beyond any, a cut frame, a long ping.
  [0x81, 0x82, ...MASK, 0xc3, 0x28],
  [0x83, 0x80, ...MASK],
  [0xc1, 0x80, ...MASK],
  [0x81, 0x02, 0x7b, 0x7d],
  [0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, ...MASK],
  [0x81, 0xfe, 0xff],
  [0x89, 0xfe, 0x01, 0x00, ...MASK, ...new Array<number>(256).fill(0)],
  [0x80, 0x80, ...MASK],
];
