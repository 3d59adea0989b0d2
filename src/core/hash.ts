import { createHash, hash } from "node:crypto";
import { crc32 } from "node:zlib";

/** CRC-32 of a text's UTF-8 bytes, continued from a check before it. */
export { crc32 };

export function sha256Hex(of: string | Uint8Array): string {
  return hash("sha256", of, "hex");
}

/** Of the parts one after the other. */
export function sha256HexOf(parts: Iterable<string>): string {
  const sum = createHash("sha256");
  for (const part of parts) sum.update(part);
  return sum.digest("hex");
}

/** The same with a pause after each, for parts that take their time to be made. */
export async function sha256HexAtLeisure(
  parts: Iterable<string>,
  pause: () => Promise<unknown>,
): Promise<string> {
  const sum = createHash("sha256");
  for (const part of parts) {
    sum.update(part);
    await pause();
  }
  return sum.digest("hex");
}

/** The CRC-32 of a byte, and of one that is followed by one, two and three zeros. */
const CRC_TABLES: readonly [Uint32Array, Uint32Array, Uint32Array, Uint32Array] = [
  Uint32Array.from({ length: 256 }, (_, byte) => afterByte(byte)),
  new Uint32Array(256),
  new Uint32Array(256),
  new Uint32Array(256),
];
for (let byte = 0; byte < 256; byte++) {
  for (let zeros = 1; zeros < 4; zeros++) {
    const before = CRC_TABLES[zeros - 1]?.[byte] as number;
    (CRC_TABLES[zeros] as Uint32Array)[byte] = (CRC_TABLES[0][before & 255] as number) ^ (before >>> 8);
  }
}

function afterByte(byte: number): number {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
}

/** More than this zlib checks faster, and less is not worth a call of it. */
const MANY_BYTES = 400;

/** CRC-32 (the one of zlib) of some bytes, continued from `previous`. */
export function crc32OfBytes(bytes: Uint8Array, from: number, to: number, previous = 0): number {
  if (to - from > MANY_BYTES) return crc32(bytes.subarray(from, to), previous);
  const [last, third, second, first] = CRC_TABLES;
  let check = ~previous;
  let at = from;
  for (; at + 4 <= to; at += 4) {
    check ^=
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    check =
      (first[check & 255] as number) ^
      (second[(check >>> 8) & 255] as number) ^
      (third[(check >>> 16) & 255] as number) ^
      (last[check >>> 24] as number);
  }
  for (; at < to; at++) check = (last[(check ^ (bytes[at] as number)) & 255] as number) ^ (check >>> 8);
  return ~check >>> 0;
}

/** Spreads 32 bits over 32 bits (a bijection), in integer arithmetic that is the same everywhere. */
export function mix32(value: number): number {
  let mixed = value | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}

/** A 32-bit hash of a string's code units, stable across platforms and versions. */
export function hash32(text: string, seed = 0): number {
  let hashed = mix32(seed ^ text.length);
  for (let i = 0; i < text.length; i++) hashed = Math.imul(hashed ^ text.charCodeAt(i), 0x01000193);
  return mix32(hashed);
}
