import type { Encoded } from "../chunks/index.ts";

/** What a handler on another thread returned. */
export class EncodedResult {
  readonly encoded: Encoded;

  constructor(encoded: Encoded) {
    this.encoded = encoded;
  }
}
