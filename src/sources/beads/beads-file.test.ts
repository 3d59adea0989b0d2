import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hasSharedData, sharedFile } from "../../../tests/shared-data.ts";
import { BeadsFile } from "../index.ts";

function edit(text: string, id: string, change: Parameters<BeadsFile["with"]>[1]): string | undefined {
  const bytes = BeadsFile.read(Buffer.from(text)).with(id, change)?.toBytes();
  return bytes && Buffer.from(bytes).toString();
}

describe("a file of issues", () => {
  test("gets fields set in place, and everything else stays as it was written", () => {
    const text = [
      '{"id":"a", "x": 1.50, "status" : "open","é":"\\u00e9", "big":12345678901234567890 }',
      '{"id":"b"}',
      "",
    ].join("\r\n");
    expect(edit(text, "a", { fields: { status: "closed", closed_at: "2026-01-01T00:00:00Z", é: "ü" } })).toBe(
      [
        '{"id":"a", "x": 1.50, "status" : "closed","é":"ü", "big":12345678901234567890,"closed_at":"2026-01-01T00:00:00Z" }',
        '{"id":"b"}',
        "",
      ].join("\r\n"),
    );
  });

  const cases = [
    ['{"id":"a"}', '{"id":"a","metadata":{"dk_attempts":1}}'],
    ['{"id":"a","metadata":{}}', '{"id":"a","metadata":{"dk_attempts":1}}'],
    ['{"id":"a","metadata":{ "x" : 1e2 } }', '{"id":"a","metadata":{ "x" : 1e2,"dk_attempts":1 } }'],
    [
      '{"id":"a","metadata":{"dk_attempts": 0, "y":[{}]}}',
      '{"id":"a","metadata":{"dk_attempts": 1, "y":[{}]}}',
    ],
    ['{"id":"a","metadata":null,"z":0}', '{"id":"a","metadata":{"dk_attempts":1},"z":0}'],
    ['{"metadata":1,"id":"a","metadata":{}}', '{"metadata":1,"id":"a","metadata":{"dk_attempts":1}}'],
  ] as const;
  test.each(cases)("gets our own fields into the metadata of %s", (before, after) => {
    expect(edit(before, "a", { metadata: { dk_attempts: 1 } })).toBe(after);
  });

  test("is changed in the line that counts, again and again, and in other lines too", () => {
    const text = '{"id":"a","n":1}\n{"id":"a","n":2}\nbroken {\n{"id":"b","n":1}\n';
    const file = BeadsFile.read(Buffer.from(text));
    const changed = file
      .with("b", { fields: { n: 5 } })
      ?.with("a", { fields: { n: 3 } })
      ?.with("a", { fields: { m: 4 } });
    expect(Buffer.from(changed?.toBytes() ?? []).toString()).toBe(
      '{"id":"a","n":1}\n{"id":"a","n":3,"m":4}\nbroken {\n{"id":"b","n":5}\n',
    );
    expect(Buffer.from(file.toBytes()).toString()).toBe(text);
  });

  test("has no issue that it does not have, and an issue keeps its id", () => {
    expect(edit('{"id":"a"}', "b", { fields: { n: 1 } })).toBeUndefined();
    expect(() => edit('{"id":"a"}', "a", { fields: { id: "b" } })).toThrow("keeps its id");
  });

  test("keeps what is not UTF-8, also in the line that is changed", () => {
    const bytes = Buffer.from('\xef\xbb\xbf{"id":"a","t":"\xff\xfe","n":1}\r\n\xff\n', "latin1");
    const changed = BeadsFile.read(bytes)
      .with("a", { fields: { n: 2 } })
      ?.toBytes();
    expect(Buffer.from(changed ?? []).toString("latin1")).toBe(
      '\xef\xbb\xbf{"id":"a","t":"\xff\xfe","n":2}\r\n\xff\n',
    );
  });
});

test("[G-12] any bytes survive a round trip", () => {
  const junk = fc.constantFrom("{", "}", '"', "\\", ",", ":", "\r", "\n", "[", "1", '{"id":"a"}', "\ufeff");
  const text = fc.array(junk, { maxLength: 40 }).map((parts) => Buffer.from(parts.join("")));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 60 }), text), (bytes) => {
      expect(Buffer.compare(BeadsFile.read(bytes).toBytes(), bytes)).toBe(0);
    }),
    { numRuns: 2_000 },
  );
});

/** A member as its own text: one value may be written in many ways. */
interface Member {
  readonly key: string;
  readonly before: string;
  readonly between: string;
  readonly value: string;
}

const blank = fc.constantFrom("", "", " ", "\t", "  ");
const valueText = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.constantFrom(
    "1.0",
    "1e3",
    "-0",
    "12345678901234567890",
    '"\\u0041\\/"',
    '"}\\\\\\""',
    "[ 1 , {} ]",
    "{ }",
  ),
);
const member: fc.Arbitrary<Member> = fc.record({
  key: fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom("status", "n", 'q"', "ä", "}", "dk_attempts")),
  before: blank,
  between: blank,
  value: valueText,
});
const memberList = fc.uniqueArray(member, { maxLength: 5, selector: ({ key }) => key });

function textOf(members: readonly Member[]): string {
  const texts = members.map(
    ({ key, before, between, value }) => `${before}${JSON.stringify(key)}${between}:${between}${value}`,
  );
  return `{${texts.join(",")}}`;
}

/** What setting a member should make of the text, told from the members that it was made of. */
function withMember(members: readonly Member[], key: string, value: unknown): readonly Member[] {
  const written = JSON.stringify(value);
  if (!members.some((member) => member.key === key))
    return [...members, { key, before: "", between: "", value: written }];
  return members.map((member) => (member.key === key ? { ...member, value: written } : member));
}

test("[G-12] an edit changes the values that it sets, and not a byte of anything else", () => {
  const line = fc.tuple(memberList, fc.constantFrom("\n", "\r\n", "\n\n", "\nbroken {\n", "\n\u00ff\n"));
  const key = fc.constantFrom("status", "n", 'q"', "ä", "}", "new");
  fc.assert(
    fc.property(
      fc.array(line, { minLength: 1, maxLength: 5 }),
      fc.nat(),
      key,
      fc.jsonValue(),
      (lines, pick, key, value) => {
        const issues = lines.map(([members, end], index) => {
          const own = { key: "id", before: "", between: "", value: JSON.stringify(`issue ${index}`) };
          return {
            members: [own, ...members.filter(({ key }) => !["id", "_type", "__proto__"].includes(key))],
            end,
          };
        });
        const changed = pick % issues.length;
        const text = issues.map(({ members, end }) => textOf(members) + end).join("");
        const expected = issues
          .map(
            ({ members, end }, index) =>
              textOf(index === changed ? withMember(members, key, value) : members) + end,
          )
          .join("");
        expect(edit(text, `issue ${changed}`, { fields: { [key]: value } })).toBe(expected);
      },
    ),
    { numRuns: 1_500 },
  );
});

test.runIf(hasSharedData).each(["beads/large.jsonl", "beads/dirty.jsonl"])(
  "[G-12] an issue of %s is changed without a byte of the others",
  (path) => {
    const bytes = Buffer.from(sharedFile(path));
    const file = BeadsFile.read(bytes);
    expect(Buffer.compare(file.toBytes(), bytes)).toBe(0);
    const lines = bytes.toString().split("\n");
    const { id } = JSON.parse(lines[100] ?? "") as { id: string };
    const place = lines.findLastIndex((line) => line.startsWith(`{"id":"${id}",`));
    const changed = file.with(id, { fields: { status: "in_progress" }, metadata: { dk_attempts: 1 } });
    const after = Buffer.from(changed?.toBytes() ?? [])
      .toString()
      .split("\n");
    expect(after.length).toBe(lines.length);
    expect(after.flatMap((line, index) => (line === lines[index] ? [] : [index]))).toEqual([place]);
    expect(JSON.parse(after[place] ?? "")).toEqual({
      ...(JSON.parse(lines[place] ?? "") as object),
      status: "in_progress",
      metadata: { dk_attempts: 1 },
    });
  },
);
