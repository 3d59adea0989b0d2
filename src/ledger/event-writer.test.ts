import fc from "fast-check";
import { expect, test } from "vitest";
import { anyEvent } from "../../tests/any-event.ts";
import { ByteWriter } from "./byte-writer.ts";
import { writeEvent } from "./event-writer.ts";
import { encodeEvent } from "./index.ts";

test("[P-15] what is written by hand is what the table says, byte for byte", () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { minLength: 1, maxLength: 8 }), (events) => {
      const written = new ByteWriter();
      for (const event of events) writeEvent(written, event);
      const text = events.map(encodeEvent).join("");
      expect(written.toString()).toBe(text);
      expect(written.bytes.subarray(0, written.size)).toEqual(Buffer.from(text));
    }),
    { seed: 1, numRuns: 2_000 },
  );
});

test("numbers and texts are written as JSON writes them", () => {
  const anyNumber = fc.oneof(
    fc.maxSafeInteger(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(0, -0, 9, 10, 99, 1_000_000, 2 ** 31 - 1, 2 ** 31, (2 ** 31 - 1) * 1e6, 1e21, 0.1),
  );
  const anyText = fc.oneof(
    fc.string(),
    fc.string({ unit: "binary" }),
    fc.constantFrom('"', "\\", "\u007f", "\ud800"),
  );
  fc.assert(
    fc.property(anyNumber, anyText, (number, text) => {
      const written = new ByteWriter();
      written.number(number);
      written.quoted(text);
      expect(written.toString()).toBe(JSON.stringify(number) + JSON.stringify(text));
    }),
    { seed: 1, numRuns: 3_000 },
  );
});
