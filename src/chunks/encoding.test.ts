import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  checkedPieces,
  decode,
  encode,
  encodedInline,
  handleOf,
  inlineOf,
  isByteStream,
  sha256Of,
} from "./encoding.ts";

const INLINE = 16 * 1024;
const roundTrip = (value: unknown): unknown => decode(encode(value, INLINE));
const kindOf = (value: unknown): string => encode(value, INLINE).kind;

test("[D-08] a value comes back as it was, whatever its kind", () => {
  fc.assert(
    fc.property(
      fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true }),
      (value) => {
        // Prototypes are not cloned, and the test asks for values that have none.
        fc.pre(value !== undefined);
        expect(roundTrip(value)).toEqual(roundTrip(roundTrip(value)));
      },
    ),
  );
  for (const value of [
    null,
    0,
    "a",
    "ä\0",
    "\ud800",
    [1, [2]],
    { a: { b: "c" } },
    Buffer.from("raw"),
    1n,
    -0,
    Number.NaN,
  ])
    expect(roundTrip(value)).toStrictEqual(value);
  for (const value of [
    new Map([[1, new Date(0)]]),
    new Float64Array([0.5]),
    { a: undefined },
    [undefined],
    new Set(["x"]),
  ])
    expect(roundTrip(value)).toStrictEqual(value);
});

test("[D-08] typed arrays that come back have memory of their own, and no more than they need", () => {
  const views = () => [
    new Float64Array([1, 2, 3]),
    new DataView(new Uint8Array([1, 2, 3, 4]).buffer),
    new BigInt64Array([5n]),
    new Uint16Array(0),
    Buffer.from("abc"),
    new Float32Array(100_000).fill(0.5),
  ];
  const { kind, bytes } = encode(views(), INLINE);
  expect(kind).toBe("clone");
  for (const at of [0, 1]) {
    // Aligned, or not, and as part of a pool.
    const given = Buffer.alloc(bytes.length + 1).subarray(at, at + bytes.length);
    given.set(bytes);
    const found = decode({ kind, bytes: given }) as ArrayBufferView[];
    expect(found).toStrictEqual(views());
    for (const view of found) expect(view.buffer.byteLength).toBe(view.byteLength);
    given.fill(0);
    expect(found).toStrictEqual(views());
  }
});

test("[D-08] JSON that survives a server's store unchanged comes back equal, small ones by way of a report", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const encoded = encode(value, INLINE);
      const reported = JSON.parse(JSON.stringify(inlineOf(encoded))) as unknown;
      expect(decode(encodedInline(reported))).toEqual(value);
      expect(decode(encoded)).toEqual(value);
    }),
  );
});

test("[D-08] the kind says how bytes are read, and what JSON or a store would change is none", () => {
  expect(kindOf(undefined)).toBe("json");
  expect(kindOf({ rows: [1, 2.5, "x", null, true] })).toBe("json");
  expect(kindOf("short")).toBe("json");
  expect(kindOf("x".repeat(INLINE))).toBe("text");
  expect(kindOf("nul\0")).toBe("text");
  expect(kindOf(new Uint8Array(3))).toBe("bytes");
  const sparse: unknown[] = [];
  sparse[2] = 1;
  for (const value of [
    -0,
    Number.NaN,
    "\ud800",
    { key: "\ud800" },
    { "\0": 1 },
    { at: new Date() },
    { gone: undefined },
    sparse,
    new (class Point {
      x = 1;
    })(),
    JSON.parse('{"__proto__": 1}'),
    JSON.parse(`${"[".repeat(91)}${"]".repeat(91)}`),
    { $chunk: "bytes", base64: "" },
  ])
    expect(kindOf(value)).toBe("clone");
});

test("[D-08] what a report carries of each kind is read back as that kind", () => {
  for (const value of [
    Buffer.from([0, 255]),
    new Map([["a", 1]]),
    "nul\0",
    "plain",
    { $chunk: "text", base64: "eA==" },
  ]) {
    const reported = JSON.parse(JSON.stringify(inlineOf(encode(value, INLINE)))) as unknown;
    expect(decode(encodedInline(reported))).toStrictEqual(value);
  }
});

test("[D-08] the handle has the length and hash of the encoded bytes", () => {
  const handle = handleOf(encode("äöü".repeat(INLINE), INLINE));
  expect(handle).toEqual({
    kind: "text",
    bytes: 6 * INLINE,
    sha256: sha256Of(Buffer.from("äöü".repeat(INLINE))),
  });
});

test("[D-08] what cannot be sent is named by its path", () => {
  const circle: Record<string, unknown> = { ok: 1 };
  circle["self"] = circle;
  expect(roundTrip(circle)).toMatchObject({ ok: 1 });
  const cases: [unknown, string][] = [
    [() => 1, "the result cannot be sent: it is a function"],
    [{ rows: [{ done: () => 1 }] }, "result.rows[0].done cannot be sent: it is a function"],
    [{ "a b": Symbol("s") }, 'result["a b"] cannot be sent: it is a symbol'],
    [new Map([["key", new WeakMap()]]), 'result.get("key") cannot be sent: #<WeakMap> could not be cloned.'],
    [[Promise.resolve(1)], "result[0] cannot be sent: #<Promise> could not be cloned."],
  ];
  for (const [value, message] of cases) {
    expect(() => encode(value, INLINE)).toThrow(
      expect.objectContaining({ code: "result-not-serializable", retry: false, message }),
    );
  }
});

test("bytes are copied, unless they are over a SharedArrayBuffer", () => {
  const own = Buffer.from("before");
  const shared = new Uint8Array(new SharedArrayBuffer(4));
  const [copied, same] = [encode(own, INLINE), encode(shared, INLINE)];
  own.fill("x");
  shared.fill(7);
  expect(copied.bytes.toString()).toBe("before");
  expect(same.bytes.buffer).toBe(shared.buffer);
  expect(encode(Buffer.from("a large pool").subarray(2, 7), INLINE).bytes.toString()).toBe("large");
});

test("what one consumer does to a clone, another does not see", () => {
  const encoded = encode({ floats: new Float64Array([1, 2]) }, INLINE);
  const first = decode(encoded) as { floats: Float64Array };
  first.floats[0] = 9;
  expect(decode(encoded)).toEqual({ floats: new Float64Array([1, 2]) });
});

test("a stream must give Buffers", async () => {
  expect(isByteStream(Readable.from([]))).toBe(true);
  expect([Buffer.from("x"), "x", null, [1], {}].some(isByteStream)).toBe(false);
  const read = async (source: AsyncIterable<unknown>): Promise<string> => {
    let text = "";
    for await (const piece of checkedPieces(source)) text += Buffer.from(piece).toString();
    return text;
  };
  expect(await read(Readable.from([Buffer.from("a"), Buffer.from("b")]))).toBe("ab");
  await expect(read(Readable.from(["a"]))).rejects.toMatchObject({
    code: "result-not-serializable",
    message: expect.stringContaining("leave out setEncoding"),
  });
});
