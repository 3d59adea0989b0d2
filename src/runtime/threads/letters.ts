import { MessageChannel, type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { Channel } from "../channel.ts";
import type { Memory } from "./memory.ts";
import { findChannels, type Passage, placeChannels, type Ticket } from "./passing.ts";

/** What the main thread asks the others: what they recorded, what they run, to tell the observer all, and to see to a stall. */
export type Inquiry = "log" | "view" | "told" | "stall";

/** An inquiry and what is answered, by its number. */
export interface Inquired {
  readonly number: number;
  readonly what: Inquiry;
  readonly from: number;
  /** How many fibers are to be shown. */
  readonly limit: number;
  readonly answer?: unknown;
}

/**
 * What does not fit into a record or a slip is sent as a copy: arguments to a thief, a result or an error to a home, mail
 * about channels.
 */
export interface Letter {
  readonly to: number;
  readonly record: number;
  readonly serial: number;
  readonly kind: "arguments" | "outcome" | "mail" | "inquiry" | "answer" | "told" | "port";
  readonly value: unknown;
  /** Where there are channels in the value. */
  readonly passages?: readonly Passage[];
}

/** What knows the channels of a thread. */
export interface Passports {
  ticketOf(channel: Channel<unknown>): Ticket;
  channelOf(ticket: Ticket): Channel<unknown>;
}

/**
 * How letters go. The main thread has a port to each other one. Two others make one between them when they first need it;
 * what has channels in it goes through the main thread, which counts who has them. Reading never waits.
 */
export interface Post {
  passports: Passports | undefined;
  /** Throws where the value cannot be cloned. Says whether there is somebody to read it. */
  send(letter: Letter): boolean;
  receive(take: (letter: Letter) => void): void;
}

/** The post of a thread. */
export class ThreadPost implements Post {
  passports: Passports | undefined;
  readonly #memory: Memory;
  /** To the main thread. */
  readonly #port: MessagePort;
  /** To others, and to which of their threads. */
  readonly #to = new Map<number, { readonly port: MessagePort; readonly incarnation: number }>();
  readonly #from: MessagePort[] = [];

  constructor(memory: Memory, port: MessagePort) {
    this.#memory = memory;
    this.#port = port;
  }

  send(letter: Letter): boolean {
    const sent = withPassages(letter, this.passports);
    const isDirect = sent.to !== 0 && sent.passages === undefined;
    (isDirect ? this.#portTo(sent.to) : this.#port).postMessage(sent);
    announce(this.#memory, isDirect ? sent.to : 0);
    return true;
  }

  #portTo(to: number): MessagePort {
    const incarnation = this.#memory.incarnationOf(to);
    const known = this.#to.get(to);
    if (known?.incarnation === incarnation) return known.port;
    known?.port.close();
    const { port1, port2 } = new MessageChannel();
    port1.unref();
    this.#port.postMessage({ to, kind: "port", record: -1, serial: 0, value: port2 } satisfies Letter, [
      port2,
    ]);
    announce(this.#memory, 0);
    this.#to.set(to, { port: port1, incarnation });
    return port1;
  }

  receive(take: (letter: Letter) => void): void {
    receiveAll(this.#port, (letter) => {
      if (letter.kind === "port") this.#from.push(letter.value as MessagePort);
      else take(withChannels(letter, this.passports));
    });
    for (const port of this.#from) receiveAll(port, take);
  }
}

/** The post of the main thread: its own letters, and those that it hands on. */
export class MainPost implements Post {
  passports: Passports | undefined;
  /** Told of channels that other threads are given. */
  passed: (to: number, passages: readonly Passage[]) => void = () => undefined;
  readonly #memory: Memory;
  readonly #ports = new Map<number, MessagePort>();
  /** Letters that were read while others were looked for. */
  #kept: Letter[] = [];
  /** Of threads that are gone, until what they had sent is read. */
  #left: MessagePort[] = [];

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  connect(processor: number, port: MessagePort): void {
    this.#ports.set(processor, port);
  }

  /** Told when a thread is gone. */
  disconnect(processor: number): void {
    const port = this.#ports.get(processor);
    if (port === undefined) return;
    this.#ports.delete(processor);
    this.#left.push(port);
    announce(this.#memory, 0);
  }

  close(): void {
    for (const port of [...this.#ports.values(), ...this.#left]) port.close();
  }

  send(letter: Letter): boolean {
    return this.#sendOn(withPassages(letter, this.passports));
  }

  #sendOn(letter: Letter): boolean {
    const port = this.#ports.get(letter.to);
    if (port === undefined) return false;
    port.postMessage(letter, letter.kind === "port" ? [letter.value as MessagePort] : []);
    if (letter.passages !== undefined) this.passed(letter.to, letter.passages);
    announce(this.#memory, letter.to);
    return true;
  }

  /** Reads what others tell the main thread about themselves, and keeps the rest for later. */
  receiveNews(take: (letter: Letter) => void): void {
    this.receive((letter) => {
      if (letter.kind === "answer" || letter.kind === "told") take(letter);
      else this.#kept.push(letter);
    });
    if (this.#kept.length > 0) announce(this.#memory, 0);
  }

  receive(take: (letter: Letter) => void): void {
    const left = this.#left;
    this.#left = [];
    for (const letter of this.#kept.splice(0)) take(letter);
    for (const port of [...this.#ports.values(), ...left])
      receiveAll(port, (letter) => {
        if (letter.to === 0) take(withChannels(letter, this.passports));
        else this.#sendOn(letter);
      });
    for (const port of left) port.close();
  }
}

export function withPassages(letter: Letter, passports: Passports | undefined): Letter {
  if (passports === undefined) return letter;
  const passages = findChannels(letter.value, (channel) => passports.ticketOf(channel));
  return passages.length === 0 ? letter : { ...letter, passages };
}

export function withChannels(letter: Letter, passports: Passports | undefined): Letter {
  const { passages } = letter;
  if (passages === undefined || passports === undefined) return letter;
  const value = placeChannels(letter.value, passages, (ticket) => passports.channelOf(ticket));
  return { ...letter, value };
}

function announce(memory: Memory, processor: number): void {
  Atomics.store(memory.words, memory.lettersAt(processor), 1);
  memory.ring(processor);
}

function receiveAll(port: MessagePort, take: (letter: Letter) => void): void {
  for (let message = receiveMessageOnPort(port); message; message = receiveMessageOnPort(port))
    take(message.message as Letter);
}
