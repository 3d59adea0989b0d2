import { describe, expect, test } from "vitest";
import { issue, NOW, readIssues as read } from "../../../tests/beads-issues.ts";
import { hasSharedData, sharedFile } from "../../../tests/shared-data.ts";
import type { Project } from "../../plan/index.ts";
import { readProject } from "../index.ts";

describe("[G-12] dirt is reported with its line and survived:", () => {
  const clean = issue("a");
  const cases: readonly (readonly [what: string, dirty: object, code: string])[] = [
    ["a missing priority", { priority: undefined }, "missing-priority"],
    ["a priority out of range", { priority: 7 }, "bad-priority"],
    ["a priority that is none", { priority: {} }, "bad-priority"],
    ["a missing status", { status: undefined }, "missing-status"],
    ["a status that is no text", { status: 1 }, "bad-status"],
    ["a status of somebody's own", { status: "in-review" }, "unknown-status"],
    ["an unknown type of issue", { issue_type: "wish" }, "unknown-issue-type"],
    ["a size that is none", { dk_size: "XXL" }, "bad-dk_size"],
    ["an estimate below zero", { estimated_minutes: -5 }, "bad-estimated_minutes"],
    ["tokens that are none", { metadata: { dk_estimated_tokens: "many" } }, "bad-dk_estimated_tokens"],
    ["attempts in halves", { dk_attempts: 0.5 }, "bad-dk_attempts"],
    ["an unknown risk", { dk_risk: "some" }, "bad-dk_risk"],
    ["speculation that is neither", { dk_speculate: 2 }, "bad-dk_speculate"],
    ["a date that is none", { created_at: "yesterday" }, "bad-date"],
    ["a day that there is not", { defer_until: "2026-13-41T00:00:00Z" }, "bad-date"],
    ["labels that are no list", { labels: "ui" }, "bad-labels"],
    ["labels that are no texts", { labels: [1, "ui"] }, "bad-labels"],
    ["a flag that is none", { pinned: "yes" }, "bad-pinned"],
    ["a title that is none", { title: 5 }, "bad-title"],
    ["dependencies that are no list", { dependencies: "b" }, "bad-dependencies"],
    ["a dependency that is no map", { dependencies: ["b"] }, "bad-dependency"],
    ["a dependency on nothing", { dependencies: [{ type: "blocks" }] }, "bad-dependency"],
    ["a dependency without a type", { dependencies: [{ depends_on_id: "b" }] }, "missing-dependency-type"],
    [
      "an unknown dependency",
      { dependencies: [{ depends_on_id: "b", type: "likes" }] },
      "unknown-dependency-type",
    ],
    ["a dependency on itself", { dependencies: [{ depends_on_id: "x", type: "blocks" }] }, "self-dependency"],
    ["a missing parent", { dependencies: [{ depends_on_id: "q", type: "parent-child" }] }, "dangling-parent"],
    ["missing children", { dependencies: [{ depends_on_id: "q", type: "waits-for" }] }, "dangling-waits-for"],
  ];
  test.each(cases)("%s", (_what, dirty, code) => {
    const { activities, findings } = read([
      clean,
      { ...issue("x"), ...dirty },
      issue("b", { status: "closed" }),
    ]);
    expect(findings.map(({ line, id, code }) => [line, id, code])).toEqual([[2, "x", code]]);
    expect(activities.map(({ id }) => id)).toEqual(["a", "x", "b"]);
  });

  const lines: readonly (readonly [what: string, line: string, code: string])[] = [
    ["broken JSON", '{"id": "x", ', "broken-json"],
    ["a number", "42", "not-an-object"],
    ["a list", '["id"]', "not-an-object"],
    ["null", "null", "not-an-object"],
    ["no id", '{"title":"x"}', "missing-id"],
    ["an id that is none", '{"id":{}}', "missing-id"],
    ["another kind of record", '{"_type":"event","id":"x"}', "unknown-record"],
    ["a huge line", `{"id":"x","title":"${"x".repeat(17 * 1024 * 1024)}"}`, "huge-line"],
  ];
  test.each(lines)("%s instead of an issue", (_what, line, code) => {
    const { activities, findings } = read(
      `${JSON.stringify(clean)}\n\n${line}\n   \n${JSON.stringify(issue("b"))}`,
    );
    expect(findings.map(({ line, code }) => [line, code])).toEqual([[3, code]]);
    expect(activities.map(({ id }) => id)).toEqual(["a", "b"]);
  });

  test("so many broken lines that nobody wants to know why each is", () => {
    const { activities, findings } = read(`${JSON.stringify(clean)}\n${"{\n".repeat(20_000)}`);
    expect(activities).toHaveLength(1);
    expect(findings.at(-1)).toMatchObject({ line: 10_002, code: "gave-up" });
  });

  test("memories are no issues and no dirt", () => {
    const { activities, findings } = read([
      { _type: "memory", key: "k", value: "v" },
      { _type: "issue", ...clean },
    ]);
    expect([activities.length, findings]).toEqual([1, []]);
  });

  test("of an id that stands several times the last line counts, and the others are reported", () => {
    const { activities, findings } = read([
      issue("a"),
      issue("b"),
      issue("a", { priority: 1 }),
      issue("a", { priority: 0 }),
    ]);
    expect(activities.map(({ id, priority }) => [id, priority])).toEqual([
      ["b", 2],
      ["a", 0],
    ]);
    expect(findings.map(({ line, code, message }) => [line, code, message])).toEqual([
      [1, "duplicate-id", "the issue stands again on line 3, which counts"],
      [3, "duplicate-id", "the issue stands again on line 4, which counts"],
    ]);
  });

  test("a byte order mark, CR LF and what is not UTF-8", () => {
    const text = `\uFEFF${JSON.stringify(clean)}\r\n${JSON.stringify(issue("b"))}\r\n`;
    const bytes = Buffer.concat([
      Buffer.from(text),
      Buffer.from('{"id":"c","status":"open","priority":1,"title":"\xff"}', "latin1"),
    ]);
    const result = readProject(bytes, "x.jsonl", { now: NOW });
    if (!result.ok) throw new Error(result.problems[0]?.message);
    expect(result.project.activities.map(({ id, title }) => [id, title])).toEqual([
      ["a", "Issue a"],
      ["b", "Issue b"],
      ["c", "\uFFFD"],
    ]);
    expect(result.project.findings.map(({ line, code }) => [line, code])).toEqual([
      [1, "byte-order-mark"],
      [1, "crlf"],
      [3, "not-utf8"],
    ]);
  });

  test("a file without a single issue is refused, an empty one is not", () => {
    const result = readProject(new TextEncoder().encode('{"v":1}\n'), "ledger.jsonl", { now: NOW });
    expect(result.ok ? [] : result.problems).toMatchObject([
      { line: 1, message: expect.stringContaining("no line is") },
    ]);
    expect(read("\n\n").activities).toEqual([]);
  });

  test("issues are recognised in a file of any name, be it one line or more", () => {
    const one = new TextEncoder().encode(JSON.stringify(clean));
    const two = new TextEncoder().encode(`${JSON.stringify(clean)}\n${JSON.stringify(issue("b"))}\n`);
    for (const bytes of [one, two])
      for (const name of ["issues", "issues.json"])
        expect(readProject(bytes, name, { now: NOW }).ok).toBe(true);
  });
});

describe.runIf(hasSharedData)("[G-12] exports that people made", () => {
  /** By other means than the reader's: the whole text split and parsed at once, and counted. */
  function count(path: string): {
    readonly ids: Set<string>;
    readonly again: number;
    readonly noPriority: number;
  } {
    const issues = new TextDecoder()
      .decode(sharedFile(path))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { id: string; status: string; priority?: number });
    const last = new Map(issues.map((issue) => [issue.id, issue]));
    const ids = new Set(
      [...last.values()].filter(({ status }) => status !== "tombstone").map(({ id }) => id),
    );
    const noPriority = issues.filter(({ priority }) => priority === undefined).length;
    return { ids, again: issues.length - last.size, noPriority };
  }

  function readShared(path: string): Project {
    const result = readProject(sharedFile(path), path, { now: NOW });
    if (!result.ok) throw new Error(result.problems[0]?.message);
    return result.project;
  }

  test.each(["beads/large.jsonl", "beads/dirty.jsonl"])("%s is read and all its dirt reported", (path) => {
    const { activities, findings } = readShared(path);
    const { ids, again, noPriority } = count(path);
    expect(new Set(activities.map(({ id }) => id))).toEqual(ids);
    const found = (code: string) => findings.filter((finding) => finding.code === code).length;
    expect(found("duplicate-id")).toBe(again);
    expect(found("missing-priority")).toBe(noPriority);
    expect(findings).toHaveLength(again + noPriority);
  });

  test("the dirty one is dirty", () => {
    expect(readShared("beads/dirty.jsonl").findings.length).toBeGreaterThan(200);
  });
});
