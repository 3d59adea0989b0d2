import fc from "fast-check";
import { expect, test } from "vitest";
import { type SentEvent, SentEventParser } from "./sent-events.ts";

const STREAM = [
  ": a comment",
  "retry: 2000",
  "",
  "id: 1",
  "event: Submitted",
  'data: {"a":1}',
  "",
  "event: nothing",
  "",
  "data:two",
  "data: lines",
  "unknown: field",
  "",
  "id: 2",
  "event: Ended",
  "data",
  "",
  "data: unfinished",
];
const EVENTS: SentEvent[] = [
  { id: "1", kind: "Submitted", data: '{"a":1}' },
  { id: undefined, kind: "message", data: "two\nlines" },
  { id: "2", kind: "Ended", data: "" },
];

test("a stream is read the same however it is cut into pieces and whatever ends its lines", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(200), { maxLength: 20 }),
      fc.constantFrom("\n", "\r\n", "\r"),
      (cuts, lineEnd) => {
        const text = STREAM.join(lineEnd);
        const parser = new SentEventParser();
        const events: SentEvent[] = [];
        let from = 0;
        for (const to of [...cuts.sort((a, b) => a - b), text.length]) {
          events.push(...parser.feed(text.slice(from, to)));
          from = Math.max(from, Math.min(to, text.length));
        }
        expect(events).toEqual(EVENTS);
      },
    ),
  );
});
