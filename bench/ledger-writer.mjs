import { closeSync, openSync, writeSync } from "node:fs";

/** @typedef {import("../dist/ledger/index.js").Block} Block */

const CHUNK = 1 << 20;

/** Writes blocks to a file in large pieces, outside of what is timed. */
export class LedgerWriter {
  #file;
  /** @type {string[]} */
  #lines = [];
  #length = 0;

  /** @param {string} path */
  constructor(path) {
    this.#file = openSync(path, "w");
  }

  /** @param {Block} block */
  add({ line }) {
    this.#lines.push(line, "\n");
    this.#length += line.length;
    if (this.#length >= CHUNK) this.#flush();
  }

  close() {
    this.#flush();
    closeSync(this.#file);
  }

  #flush() {
    const bytes = Buffer.from(this.#lines.join(""));
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#file, bytes, done);
    this.#lines = [];
    this.#length = 0;
  }
}
