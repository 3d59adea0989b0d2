import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { headPath } from "../dist/store/index.js";

/** @typedef {import("../dist/ledger/index.js").Block} Block */
/** @typedef {import("../dist/ledger/index.js").Head} Head */

const CHUNK = 1 << 20;

/** Writes blocks to a file in large pieces, outside of what is timed. */
export class LedgerWriter {
  #path;
  #file;
  /** @type {string[]} */
  #lines = [];
  #length = 0;

  /** @param {string} path */
  constructor(path) {
    this.#path = path;
    this.#file = openSync(path, "w");
  }

  /** @param {Block} block */
  add({ line }) {
    this.#lines.push(line, "\n");
    this.#length += line.length;
    if (this.#length >= CHUNK) this.#flush();
  }

  /**
   * Puts the head beside the blocks, so that a missing end is noticed.
   *
   * @param {Head} head
   */
  close({ epoch, seq, hash }) {
    this.#flush();
    closeSync(this.#file);
    writeFileSync(headPath(this.#path), `{"v":1,"epoch":${epoch},"seq":${seq},"hash":"${hash}"}\n`);
  }

  #flush() {
    const bytes = Buffer.from(this.#lines.join(""));
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#file, bytes, done);
    this.#lines = [];
    this.#length = 0;
  }
}
