import { crc32 } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { crc32OfBytes, hash32, mix32, sha256Hex } from "./index.ts";

const SEED = { seed: 1, numRuns: 1_000 };
const anyText = fc.oneof(
  fc.string({ maxLength: 200 }),
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("a", "é", "\u{1f600}", "\ud800", "\udfff", "\0") }),
);

test("the check is zlib's, whatever the bytes, whichever of them, and whatever it continues", () => {
  const anyBytes = fc.uint8Array({ maxLength: 1_000 });
  fc.assert(
    fc.property(anyBytes, fc.nat(), fc.nat(), fc.nat(0xffff_ffff), (bytes, one, other, previous) => {
      const [from, to] = [one % (bytes.length + 1), other % (bytes.length + 1)].sort((a, b) => a - b) as [
        number,
        number,
      ];
      expect(crc32OfBytes(bytes, from, to, previous)).toBe(
        from === to ? previous : crc32(bytes.subarray(from, to), previous),
      );
    }),
    SEED,
  );
  expect(crc32OfBytes(Buffer.from("123456789"), 0, 9)).toBe(0xcbf43926);
});

test("sha256 gives the digests of the standard", () => {
  expect(sha256Hex("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect(sha256Hex("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
});

test("[P-01] hashes that decide are pinned: the same on every machine and version", () => {
  expect([0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff].map(mix32)).toEqual(PINNED.mix32);
  expect(["", "a", "b", "node-1", "é", "\u{1f600}", "\ud800"].map((text) => hash32(text))).toEqual(
    PINNED.hash32,
  );
  expect([hash32("a", 1), hash32("a", -1), hash32("a", 0x1_0000_0001)]).toEqual(PINNED.seeded);
});

test("mix32 sends different numbers to different numbers", () => {
  const seen = new Set<number>();
  const step = 65_537;
  for (let value = 0, count = 0; count < 65_536; value += step, count++) seen.add(mix32(value));
  expect(seen.size).toBe(65_536);
});

test("hash32 tells texts apart that differ in one unit, in their order or in their length", () => {
  const texts = ["ab", "ba", "a", "aa", "aaa", "\0", "\0\0", "A", "ạ", "a\u0323"];
  expect(new Set(texts.map((text) => hash32(text))).size).toBe(texts.length);
});

test("both hashes stay within 32 bits", () => {
  fc.assert(
    fc.property(anyText, fc.integer(), (text, seed) => {
      for (const hashed of [hash32(text, seed), mix32(seed)]) {
        expect(Number.isInteger(hashed) && hashed >= 0 && hashed <= 0xffff_ffff).toBe(true);
      }
    }),
    SEED,
  );
});

const PINNED = {
  mix32: [0, 2261973619, 229111015, 1289417537, 3770504306, 2578835075],
  hash32: [0, 4284332212, 3088128389, 3601276267, 3139497851, 855569517, 4103817060],
  seeded: [1044034441, 3894541372, 1044034441],
};
