import { describe, expect, test } from "vitest";
import { issue, NOW, readIssues as read } from "../../../tests/beads-issues.ts";
import type { Activity, Project } from "../../plan/index.ts";
import { readProject } from "../index.ts";

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
