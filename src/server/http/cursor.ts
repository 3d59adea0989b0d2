import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { ListCursor } from "../../store/index.ts";
import { invalid, type Problem } from "./problems.ts";

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Places in lists, for clients. A place holds a sequence number of the ledger, which counts what happens in all
 * zones, so it travels encrypted; and one that was tampered with is noticed.
 */
export class Cursors {
  readonly #key: Buffer;

  /** 32 bytes. */
  constructor(key: Buffer) {
    this.#key = key;
  }

  seal(cursor: ListCursor): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#key, iv);
    const text = `${cursor.submittedSeq} ${cursor.id}`;
    return Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString(
      "base64url",
    );
  }

  open(text: string): ListCursor {
    const bytes = Buffer.from(text, "base64url");
    try {
      const decipher = createDecipheriv("aes-256-gcm", this.#key, bytes.subarray(0, IV_BYTES));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const sealed = bytes.subarray(IV_BYTES, -TAG_BYTES);
      const opened = Buffer.concat([decipher.update(sealed), decipher.final()]).toString();
      const space = opened.indexOf(" ");
      return { submittedSeq: Number(opened.slice(0, space)), id: opened.slice(space + 1) };
    } catch {
      throw unknownCursor();
    }
  }
}

export function unknownCursor(): Problem {
  const detail = "is none that this server gave out; leave it away to begin anew";
  return invalid([{ in: "query", pointer: "/cursor", detail }]);
}
