import { createCipheriv, createDecipheriv } from "node:crypto";

/**
 * Ids of the live stream. They stand for sequences of the ledger, which would tell a zone how much happens in
 * others; so they are encrypted, each alone, under a secret of the service.
 */
export class StreamIds {
  readonly #key: Uint8Array;

  /** 32 bytes. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  idOf(seq: number): string {
    const plain = Buffer.alloc(16);
    plain.writeBigUInt64BE(BigInt(seq), 8);
    const cipher = createCipheriv("aes-256-ecb", this.#key, null).setAutoPadding(false);
    return Buffer.concat([cipher.update(plain), cipher.final()]).toString("base64url");
  }

  /** Undefined for what is no id of ours. */
  seqOf(id: string): number | undefined {
    const bytes = Buffer.from(id, "base64url");
    if (bytes.length !== 16) return undefined;
    const decipher = createDecipheriv("aes-256-ecb", this.#key, null).setAutoPadding(false);
    const plain = Buffer.concat([decipher.update(bytes), decipher.final()]);
    const seq = plain.readBigUInt64BE(8);
    return plain.readBigUInt64BE(0) === 0n && seq <= BigInt(Number.MAX_SAFE_INTEGER)
      ? Number(seq)
      : undefined;
  }
}
