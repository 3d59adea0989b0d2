import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { Memory } from "./memory.ts";

/** What does not fit into a record is sent as a copy: arguments to a thief, a result or an error to a home. */
export interface Letter {
  readonly to: number;
  readonly record: number;
  readonly serial: number;
  readonly kind: "arguments" | "outcome";
  readonly value: unknown;
}

/** How letters go. All go through the main thread, which has a port to each other one. Reading never waits. */
export interface Post {
  /** Throws where the value cannot be cloned. */
  send(letter: Letter): void;
  receive(take: (letter: Letter) => void): void;
}

/** The post of a thread. */
export class ThreadPost implements Post {
  readonly #memory: Memory;
  readonly #port: MessagePort;

  constructor(memory: Memory, port: MessagePort) {
    this.#memory = memory;
    this.#port = port;
  }

  send(letter: Letter): void {
    this.#port.postMessage(letter);
    announce(this.#memory, 0);
  }

  receive(take: (letter: Letter) => void): void {
    receiveAll(this.#port, take);
  }
}

/** The post of the main thread: its own letters, and those that it hands on. */
export class MainPost implements Post {
  readonly #memory: Memory;
  readonly #ports = new Map<number, MessagePort>();
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

  send(letter: Letter): void {
    this.#ports.get(letter.to)?.postMessage(letter);
    announce(this.#memory, letter.to);
  }

  receive(take: (letter: Letter) => void): void {
    const left = this.#left;
    this.#left = [];
    for (const port of [...this.#ports.values(), ...left])
      receiveAll(port, (letter) => {
        if (letter.to === 0) take(letter);
        else this.send(letter);
      });
    for (const port of left) port.close();
  }
}

function announce(memory: Memory, processor: number): void {
  Atomics.store(memory.words, memory.lettersAt(processor), 1);
  memory.ring(processor);
}

function receiveAll(port: MessagePort, take: (letter: Letter) => void): void {
  for (let message = receiveMessageOnPort(port); message; message = receiveMessageOnPort(port))
    take(message.message as Letter);
}
