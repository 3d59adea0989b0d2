import { hash } from "node:crypto";
import { crc32 as crc32OfZlib } from "node:zlib";

export function sha256Hex(text: string): string {
  return hash("sha256", text, "hex");
}

const CRC_TABLE: Uint32Array = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

const SHORT = 80;

/**
 * CRC-32 (the one of zlib) of a text's UTF-8 bytes, continued from `previous`.
 *
 * Written out for the short texts of most events: up to some eighty characters a call into zlib costs more than this
 * loop.
 */
export function crc32(text: string, previous = 0): number {
  if (text.length > SHORT) return crc32OfZlib(text, previous);
  let crc = ~previous;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 127) return crc32OfZlib(text, previous);
    crc = (CRC_TABLE[(crc ^ unit) & 255] as number) ^ (crc >>> 8);
  }
  return ~crc >>> 0;
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
