import { describe, expect, test } from "vitest";
import { hasSharedData, sharedFile } from "../../../tests/shared-data.ts";
import type { Activity, Project } from "../../plan/index.ts";
import { readProject } from "../index.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");

function read(issues: readonly object[] | string): Project {
  const text =
    typeof issues === "string" ? issues : issues.map((issue) => `${JSON.stringify(issue)}\n`).join("");
  const result = readProject(new TextEncoder().encode(text), ".beads/issues.jsonl", { now: NOW });
  if (!result.ok) throw new Error(result.problems[0]?.message);
  return result.project;
}

/** An issue that is clean, with what it depends on as [type, id]. */
function issue(id: string, more: object = {}, ...dependencies: (readonly [string, string])[]): object {
  return {
    id,
    title: `Issue ${id}`,
    status: "open",
    priority: 2,
    issue_type: "task",
    ...more,
    dependencies: dependencies.map(([type, target]) => ({ issue_id: id, depends_on_id: target, type })),
  };
}

/** What could start now: open, with nothing to wait for that exists and is not done. */
function ready({ activities }: Project): string[] {
  const done = new Map(activities.map(({ id, state }) => [id, state.is === "done"]));
  return activities
    .filter(({ state, needs }) => state.is === "open" && needs.every((need) => done.get(need) ?? true))
    .map(({ id }) => id);
}

function find(project: Project, id: string): Activity {
  const activity = project.activities.find((activity) => activity.id === id);
  if (!activity) throw new Error(`${id} is not there`);
  return activity;
}

describe("issues of Beads", () => {
  test("[G-02] the example of the specification: sizes become hours, what blocks becomes a need", () => {
    const sized = (id: string, size: string, ...needs: string[]) =>
      issue(id, { metadata: { dk_size: size } }, ...needs.map((need) => ["blocks", need] as const));
    const project = read([
      sized("#1", "M"),
      sized("#2", "S", "#1"),
      sized("#3", "L"),
      sized("#4", "M", "#3"),
      sized("#5", "S", "#2"),
      sized("#6", "XS", "#2"),
      sized("#7", "S"),
    ]);
    expect(project.unit).toEqual({ name: "hours", ticks: 3_600_000 });
    expect(project.activities.map(({ id, needs, duration }) => [id, needs, duration / 3_600_000])).toEqual([
      ["#1", [], 4],
      ["#2", ["#1"], 2],
      ["#3", [], 8],
      ["#4", ["#3"], 4],
      ["#5", ["#2"], 2],
      ["#6", ["#2"], 1],
      ["#7", [], 2],
    ]);
    expect(ready(project)).toEqual(["#1", "#3", "#7"]);
    expect(project.findings).toEqual([]);
  });

  test("[G-12] our own fields are read from metadata or from the top, with their defaults", () => {
    const project = read([
      issue("plain"),
      issue("meta", {
        metadata: {
          dk_size: "XL",
          dk_risk: "high",
          dk_speculate: true,
          dk_estimated_tokens: 0,
          dk_priority: "P0",
        },
      }),
      issue("top", { dk_size: "s", dk_estimated_tokens: "700", priority: "P4", estimated_minutes: 90 }),
      issue("both", { dk_size: "XS", metadata: { dk_size: "L" }, work_type: "open_competition" }),
    ]);
    const shown = project.activities.map(({ id, duration, uses, priority, risk, speculate }) => [
      id,
      duration / 60_000,
      uses,
      priority,
      risk,
      speculate,
    ]);
    expect(shown).toEqual([
      ["plain", 240, { slots: 1, tokens: 50_000 }, 2, "medium", false],
      ["meta", 960, { slots: 1, tokens: 0 }, 0, "high", true],
      ["top", 90, { slots: 1, tokens: 700 }, 4, "medium", false],
      ["both", 480, { slots: 1, tokens: 50_000 }, 2, "medium", true],
    ]);
    expect(project.findings).toEqual([]);
  });

  const states = [
    [{ status: "open" }, "open"],
    [{ status: "ready" }, "open"],
    [{ status: "in_progress" }, "running"],
    [{ status: "running" }, "running"],
    [{ status: "hooked" }, "running"],
    [{ status: "closed" }, "done"],
    [{ status: "done" }, "done"],
    [{ status: "blocked" }, "blocked-status"],
    [{ status: "deferred" }, "deferred"],
    [{ status: "pinned" }, "pinned"],
    [{ status: "review" }, "held"],
    [{ pinned: true }, "pinned"],
    [{ ephemeral: true }, "ephemeral"],
    [{ ephemeral: true, status: "hooked" }, "ephemeral"],
    [{ ephemeral: true, status: "closed" }, "done"],
    ...["gate", "molecule", "message", "agent", "role", "rig", "merge-request"].map(
      (type) => [{ issue_type: type }, "not-work"] as const,
    ),
    [{ issue_type: "epic" }, "open"],
    [{ defer_until: "2026-06-01T12:00:01Z" }, "deferred"],
    [{ defer_until: "2026-06-01T14:00:00+02:00" }, "open"],
    [{ labels: ["ui", "needs-human"] }, "needs-human"],
    [{ labels: ["escalation"] }, "needs-human"],
    [{ tags: ["@human-escalated"] }, "needs-human"],
    [{ labels: ["human-escalated"], status: "in_progress" }, "running"],
    [{ dk_attempts: 3 }, "no-attempts-left"],
    [{ dk_attempts: 2 }, "open"],
    [{ metadata: { dk_attempts: 1, dk_max_attempts: 1 } }, "no-attempts-left"],
  ] as const;
  test.each(states)("[G-01] %j is %s", (more, expected) => {
    const { state } = find(read([issue("a", more)]), "a");
    expect(state.is === "held" ? state.code : state.is).toBe(expected);
  });

  test("a tombstone is gone, and nobody waits for it", () => {
    const project = read([issue("a", { status: "tombstone" }), issue("b", {}, ["blocks", "a"])]);
    expect(project.activities.map(({ id, needs }) => [id, needs])).toEqual([["b", []]]);
  });

  test("[G-01] what is closed or pinned blocks nobody, what does not exist is named and blocks nobody", () => {
    const project = read([
      issue("closed", { status: "closed" }),
      issue("pinned", { status: "pinned" }),
      issue("later", { status: "deferred" }),
      issue("a", {}, ["blocks", "closed"], ["conditional-blocks", "pinned"], ["blocks", "nowhere"]),
      issue("b", {}, ["conditional-blocks", "later"]),
      issue("c", {}, ["related", "later"], ["discovered-from", "later"]),
    ]);
    expect(ready(project)).toEqual(["a", "c"]);
    expect(find(project, "a").needs).toEqual(["closed", "nowhere"]);
  });

  test("a child waits for what blocks its parents, however far above; an open parent keeps nobody", () => {
    const project = read([
      issue("first"),
      issue("epic", {}, ["blocks", "first"]),
      issue("part", {}, ["parent-child", "epic"]),
      issue("step", {}, ["parent-child", "part"], ["blocks", "other"]),
      issue("other"),
      issue("free", { status: "closed" }, ["blocks", "first"]),
      issue("child of free", {}, ["parent-child", "free"]),
    ]);
    expect(find(project, "part").needs).toEqual(["first"]);
    expect(find(project, "step").needs).toEqual(["other", "first"]);
    expect(ready(project)).toEqual(["first", "other", "child of free"]);
  });

  test("parents that are each other's parents are survived", () => {
    const project = read([
      issue("x"),
      issue("a", {}, ["parent-child", "b"]),
      issue("b", {}, ["parent-child", "a"], ["blocks", "x"]),
    ]);
    expect(find(project, "a").needs).toEqual(["x"]);
    expect(find(project, "b").needs).toEqual(["x"]);
  });

  test("children of a parent that is put off are put off, theirs are not", () => {
    const project = read([
      issue("epic", { defer_until: "2027-01-01" }),
      issue("a", {}, ["parent-child", "epic"]),
      issue("b", {}, ["parent-child", "a"]),
    ]);
    expect(find(project, "a").state).toMatchObject({ is: "held", code: "deferred" });
    expect(ready(project)).toEqual(["b"]);
  });

  test("who waits for the children of another needs those that are not closed, or one of them", () => {
    const any = { depends_on_id: "epic", type: "waits-for", metadata: '{"gate":"any-children"}' };
    const children = [
      issue("long", { estimated_minutes: 60 }, ["parent-child", "epic"]),
      issue("short", { estimated_minutes: 30 }, ["parent-child", "epic"]),
    ];
    const waiting = [
      issue("epic"),
      issue("all", {}, ["waits-for", "epic"]),
      { ...issue("any"), dependencies: [any] },
    ];
    const before = read([...children, ...waiting]);
    expect(find(before, "all").needs).toEqual(["long", "short"]);
    expect(find(before, "any").needs).toEqual(["short"]);
    const closed = issue("gone", { status: "closed" }, ["parent-child", "epic"]);
    const after = read([closed, ...children, ...waiting]);
    expect(find(after, "all").needs).toEqual(["long", "short"]);
    expect(find(after, "any").needs).toEqual([]);
  });

  test("the name is that of the directory around", () => {
    const bytes = new TextEncoder().encode(JSON.stringify(issue("a")));
    const names = [
      "/home/me/shop/.beads/issues.jsonl",
      ".beads/issues.jsonl",
      "export.jsonl",
      "../.beads/issues.jsonl",
    ];
    const read = names.map((name) => readProject(bytes, name, { now: NOW }));
    expect(read.map((result) => result.ok && result.project.name)).toEqual([
      "shop",
      "issues",
      "export",
      "issues",
    ]);
  });
});

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
