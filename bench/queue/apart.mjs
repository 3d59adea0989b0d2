// Processes that are started and ended by their handle.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";

/** After it was asked to end. A server writes its database to the disk first. */
const END_WITHIN_MS = 60_000;
/** A backlog of a million takes its time. */
const ANSWER_WITHIN_MS = 1_200_000;
const MAX_STDERR = 10_000;

/**
 * @typedef {object} StartOptions
 * @property {readonly string[]} [execArgv]
 * @property {Readonly<Record<string, string>>} [env] Beside ours.
 */

export class Apart {
  #file;
  #child;
  #ended;
  #stderr = "";
  /** @type {unknown[]} */
  #messages = [];
  #arrived = () => {};
  /** @type {Promise<void> | undefined} */
  #ending;

  /**
   * @param {string} file A program for Node.
   * @param {readonly string[]} args
   * @param {StartOptions} [options]
   */
  constructor(file, args, { execArgv = [], env = {} } = {}) {
    this.#file = file;
    // A store that somebody set up for other purposes is not measured.
    const { DATABASE_URL: _, ...ours } = process.env;
    this.#child = spawn(process.execPath, [...execArgv, file, ...args], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: { ...ours, ...env },
      // A group of its own: a key on the terminal reaches only who started it, and that one ends it.
      detached: true,
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
      this.#stderr = (this.#stderr + text).slice(-MAX_STDERR);
    });
    this.#child.on("message", (message) => {
      this.#messages.push(message);
      this.#arrived();
    });
    this.#ended = once(this.#child, "close").then(() => this.#arrived());
  }

  /**
   * What it says next. If it says nothing for too long, it is ended.
   *
   * @returns {Promise<unknown>}
   */
  async message() {
    const late = setTimeout(() => void this[Symbol.asyncDispose](), ANSWER_WITHIN_MS);
    try {
      while (this.#messages.length === 0) {
        if (this.#hasEnded) throw this.#failure();
        await new Promise((resolve) => {
          this.#arrived = () => resolve(undefined);
        });
      }
      return this.#messages.shift();
    } finally {
      clearTimeout(late);
    }
  }

  /**
   * As by kill -9. What it had said until then.
   *
   * @returns {Promise<unknown[]>}
   */
  async killed() {
    const disconnected = this.#child.connected ? once(this.#child, "disconnect") : undefined;
    this.#child.kill("SIGKILL");
    await Promise.all([this.#ended, disconnected]);
    return this.#messages.splice(0);
  }

  /**
   * The JSON that it prints, as soon as it is whole.
   *
   * @returns {Promise<unknown>}
   */
  async printed() {
    let text = "";
    for await (const chunk of this.#child.stdout ?? []) {
      text += chunk;
      try {
        return JSON.parse(text);
      } catch {
        // There is more to come.
      }
    }
    await this.#ended;
    throw this.#failure();
  }

  /** @param {import("node:child_process").Serializable} message */
  send(message) {
    // Where it has ended, whoever waits for its answer hears of that.
    this.#child.send(message, () => {});
  }

  get pid() {
    return this.#child.pid ?? 0;
  }

  /** The end of what it wrote to the standard error. */
  get said() {
    return this.#stderr.trim();
  }

  /** Asked to end; its exit code, or the signal that ended it. */
  async stopped() {
    await this[Symbol.asyncDispose]();
    return this.#child.signalCode ?? this.#child.exitCode;
  }

  /** Asked once only: asked twice, a server ends at once and leaves its database behind. */
  [Symbol.asyncDispose]() {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end() {
    if (!this.#hasEnded) this.#child.kill("SIGTERM");
    const late = setTimeout(() => this.#child.kill("SIGKILL"), END_WITHIN_MS);
    await this.#ended;
    clearTimeout(late);
  }

  get #hasEnded() {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  #failure() {
    const { exitCode, signalCode } = this.#child;
    return new Error(`${basename(this.#file)} ended with ${signalCode ?? exitCode}: ${this.#stderr.trim()}`);
  }
}

/**
 * For programs that are started apart: they end when they are told to, and when whoever started them is gone.
 *
 * @param {import("./closers.mjs").Closers} closers
 */
export function endWhenTold(closers) {
  let isEnding = false;
  const end = async () => {
    if (isEnding) return;
    isEnding = true;
    await closers.closeAll();
    process.exit(143);
  };
  process.on("SIGTERM", () => void end());
  process.on("disconnect", () => void end());
  return {
    get isEnding() {
      return isEnding;
    },
  };
}
