// Asks a server to take tasks, over as many connections as it is told, one request at a time on each. A client of
// HTTP costs more than the server that it asks, so this writes requests to sockets and reads just enough of answers.

import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { quantile } from "../stats.mjs";
import { endWhenTold } from "./apart.mjs";
import { Closers } from "./closers.mjs";
import { usageOfThis } from "./usage.mjs";

/**
 * @typedef {object} LoadJob
 * @property {string} url
 * @property {string} key
 * @property {number} connections
 * @property {number} forMs
 * @property {number} perSecond 0: as fast as they are answered.
 */

/**
 * @typedef {object} LoadResult
 * @property {number} accepted
 * @property {number} seconds
 * @property {number} p50 Milliseconds from when a request was due to its answer.
 * @property {number} p99
 * @property {number} cpuShare Of one core, by this process.
 */

const END_OF_HEAD = Buffer.from("\r\n\r\n");
const ANSWER_WITHIN_MS = 30_000;

/**
 * @param {LoadJob} job
 * @returns {Promise<LoadResult>}
 */
async function load({ url, key, connections, forMs, perSecond }) {
  const { hostname, port } = new URL(url);
  const head = `POST /api/v2/scheduler/submit HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: `;
  const lines = await Promise.all(
    Array.from({ length: connections }, () => Line.open(hostname, Number(port), head)),
  );
  /** @type {number[]} */
  const tookMs = [];
  const before = usageOfThis();
  const startedAt = performance.now();
  const until = startedAt + forMs;
  if (perSecond === 0) await Promise.all(lines.map((line) => askOn(line, until, tookMs)));
  else await askPaced(lines, perSecond, until, tookMs);
  const seconds = (performance.now() - startedAt) / 1000;
  const cpuShare = (usageOfThis().cpuMicros - before.cpuMicros) / 1e6 / seconds;
  return {
    accepted: tookMs.length,
    seconds,
    p50: quantile(tookMs, 0.5),
    p99: quantile(tookMs, 0.99),
    cpuShare,
  };
}

/**
 * @param {Line} line
 * @param {number} until
 * @param {number[]} tookMs
 */
async function askOn(line, until, tookMs) {
  for (let askedAt = performance.now(); askedAt < until; askedAt = performance.now()) {
    await line.ask(tookMs.length);
    tookMs.push(performance.now() - askedAt);
  }
}

/**
 * What is due while all connections are taken waits for one, and its wait counts.
 *
 * @param {readonly Line[]} lines
 * @param {number} perSecond
 * @param {number} until
 * @param {number[]} tookMs
 */
async function askPaced(lines, perSecond, until, tookMs) {
  const free = [...lines];
  /** @type {number[]} */
  const due = [];
  const startedAt = performance.now();
  let sent = 0;
  const send = async (/** @type {Line} */ line, /** @type {number} */ dueAt) => {
    await line.ask(sent);
    tookMs.push(performance.now() - dueAt);
    const next = due.shift();
    if (next === undefined) free.push(line);
    else await send(line, next);
  };
  /** @type {Promise<void>[]} */
  const all = [];
  for (let now = startedAt; now < until; now = performance.now()) {
    for (; sent < ((now - startedAt) * perSecond) / 1000; sent++) {
      const line = free.pop();
      if (line) all.push(send(line, now));
      else due.push(now);
    }
    await sleep(1);
  }
  await Promise.all(all);
}

/** A connection. */
class Line {
  #socket;
  #head;
  /** @type {Buffer} */
  #buffer = Buffer.alloc(0);
  #answered = () => {};
  /** @type {(error: Error) => void} */
  #failed = () => {};

  /**
   * @param {import("node:net").Socket} socket
   * @param {string} head
   */
  constructor(socket, head) {
    this.#socket = socket;
    this.#head = head;
    socket.setNoDelay(true).setTimeout(ANSWER_WITHIN_MS);
    socket.on("timeout", () => socket.destroy(new Error("the server does not answer")));
    socket.on("data", (/** @type {Buffer} */ chunk) => this.#read(chunk));
    socket.on("error", (error) => this.#failed(error));
    socket.on("close", () => this.#failed(new Error("the server closed a connection")));
  }

  /**
   * @param {string} host
   * @param {number} port
   * @param {string} head
   * @returns {Promise<Line>}
   */
  static open(host, port, head) {
    return new Promise((resolve, reject) => {
      const socket = connect(port, host, () => resolve(new Line(socket, head)));
      socket.once("error", reject);
    });
  }

  /**
   * @param {number} number
   * @returns {Promise<void>}
   */
  ask(number) {
    const body = `{"executor":"default","task_type":"noop","payload":{"n":${number}}}`;
    return new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.#failed = reject;
      this.#socket.write(`${this.#head}${body.length}\r\n\r\n${body}`);
    });
  }

  /** @param {Buffer} chunk */
  #read(chunk) {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    const end = this.#buffer.indexOf(END_OF_HEAD);
    if (end < 0) return;
    const head = this.#buffer.toString("latin1", 0, end);
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1]);
    if (this.#buffer.length < end + END_OF_HEAD.length + length) return;
    const answer = this.#buffer;
    this.#buffer = Buffer.alloc(0);
    if (head.startsWith("HTTP/1.1 201")) this.#answered();
    else this.#failed(new Error(`a submission was refused: ${answer.toString()}`));
  }
}

endWhenTold(new Closers());
const job = /** @type {LoadJob} */ (JSON.parse(process.argv[2] ?? ""));
process.send?.(await load(job), () => process.exit(0));
