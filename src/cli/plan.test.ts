import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CommandResult, runCommand } from "../../tests/command-run.ts";
import { planCommand } from "./plan.ts";
import { textWidth } from "./terminal-text.ts";

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "orrery-plan-"));
  await writeFile(join(directory, "example.jsonl"), lines(EXAMPLE));
});

afterAll(() => rm(directory, { recursive: true }));

interface Issue {
  readonly id: string;
  readonly [field: string]: unknown;
}

function anIssue(id: string, size: string, needs: readonly string[] = [], fields: object = {}): Issue {
  const dependencies = needs.map((need) => ({ issue_id: id, depends_on_id: need, type: "blocks" }));
  const common = { title: `work ${id}`, status: "open", priority: 2, issue_type: "task" };
  return { id, ...common, dependencies, metadata: { dk_size: size, ...fields } };
}

function lines(issues: readonly object[]): string {
  return issues.map((issue) => `${JSON.stringify(issue)}\n`).join("");
}

/** The example of the specification. */
const EXAMPLE = [
  anIssue("#1", "M"),
  anIssue("#2", "S", ["#1"]),
  anIssue("#3", "L"),
  anIssue("#4", "M", ["#3"]),
  anIssue("#5", "S", ["#2"]),
  anIssue("#6", "XS", ["#2"]),
  anIssue("#7", "S"),
];

async function planOf(issues: readonly object[], ...options: readonly string[]): Promise<CommandResult> {
  const path = join(directory, "issues.jsonl");
  await writeFile(path, lines(issues));
  return await runCommand(planCommand(), path, "--schedules", "20", ...options);
}

function plan(...options: readonly string[]): Promise<CommandResult> {
  return runCommand(planCommand(), join(directory, "example.jsonl"), ...options);
}

describe("the example of the specification", () => {
  test("[G-02] [G-04] [G-13] as people read it", async () => {
    const { stdout } = await plan("--width", "90", "--schedules", "1");
    expect(stdout).toMatchInlineSnapshot(`
      "example
        nodes          7 nodes, 3 ready
        makespan       12 h (lower bound 12 h by the critical path: optimal)
        critical path  #3 → #4: 12 h
        limits         4 slots, 500,000 tokens
        mode           plan, 1 schedule tried, seed 1

           ready       starts  why
        1  #3 work #3     now  on the critical path, 12 h
        2  #1 work #1     now  holds up most of the rest, 8 h
        3  #7 work #7     now  the last of these, holds up 2 h

                    0         2h         4h         6h        8h         10h
                    ┬─────────┬──────────┬──────────┬─────────┬──────────┬──────────
      * #3 work #3  █ lane 1 █████████████████████████████████                         0 h → 8 h
        #1 work #1  ▒ lane 2 ▒▒▒▒▒▒▒▒▒▒▒▒                                              0 h → 4 h
        #7 work #7  ▒ lane 3 ▒                                                         0 h → 2 h
        #2 work #2                       ▒ lane 2 ▒▒                                   4 h → 6 h
        #5 work #5                                  ▒ lane 2 ▒                         6 h → 8 h
        #6 work #6                                  ▒▒▒▒▒                              6 h → 7 h
      * #4 work #4                                            █ lane 1 █████████████  8 h → 12 h

        █ critical path   ▒ planned
      "
    `);
  });

  test("[G-02] [G-04] [G-13] as JSON, in hours", async () => {
    const { stdout } = await plan("--json", "--seed", "7");
    const json = JSON.parse(stdout);
    expect(json).toMatchObject({
      ...{ mode: "plan", unit: "hours", makespan: 12, lowerBound: 12, gap: 0, seed: 7 },
      criticalPath: { ids: ["#3", "#4"], length: 12 },
      order: [
        { id: "#3", reason: { code: "critical-path", slack: 0, holdsUp: 12 } },
        { id: "#1", reason: { code: "holds-up", slack: 4, holdsUp: 8 } },
        { id: "#7", reason: { code: "only", slack: 10, holdsUp: 2 } },
      ],
      ready: ["#1", "#3", "#7"],
      skipped: { "#4": { code: "Dependencies", waitsFor: ["#3"] } },
      ...{ cycles: [], dangling: [], findings: [] },
    });
    expect(json.schedule[0]).toEqual({
      ...{ id: "#3", start: 0, finish: 8, lane: 0 },
      resources: { slots: 1, tokens: 50_000 },
    });
    expect(json.schedules).toBeGreaterThan(0);
  });

  test("online it is planned as the live scheduler would run it", async () => {
    const { stdout } = await plan("--json", "--mode", "online", "--slots", "2");
    expect(JSON.parse(stdout)).toMatchObject({
      mode: "online",
      makespan: 12,
      skipped: { "#7": { code: "no_slots" } },
    });
  });

  test.each([40, 57, 80, 120, 200])("is never wider than %i columns", async (width) => {
    const { stdout } = await plan("--width", String(width), "--slots", "2", "--schedules", "1");
    const chart = stdout.split("\n").filter((line) => /[█▒─]/.test(line));
    expect(chart.length).toBeGreaterThan(7);
    for (const line of chart) expect(textWidth(line)).toBeLessThanOrEqual(width);
  });
});

describe("what a plan says", () => {
  test("[G-05] what is passed over, and what it lacks", async () => {
    const { stdout } = await planOf([
      anIssue("a", "L", [], { dk_estimated_tokens: 400_000 }),
      anIssue("b", "M", [], { dk_estimated_tokens: 200_000 }),
      anIssue("c", "S", [], { dk_estimated_tokens: 100_000 }),
      anIssue("huge", "S", [], { dk_estimated_tokens: 600_000 }),
    ]);
    expect(stdout).toContain("token_limit: needs 200,000 tokens, 0 free");
    expect(stdout).toMatch(/^ {2}2 {2}b work b +8 h {2}holds up most of the rest, 4 h;$/m);
    expect(stdout).toContain("huge needs 600,000 tokens, and there are only 500,000");
  });

  test("[G-03] [G-01] cycles and blockers that do not exist", async () => {
    const { stdout } = await planOf([
      anIssue("a", "M", ["b"]),
      anIssue("b", "M", ["a"]),
      anIssue("c", "M", ["ghost"]),
    ]);
    expect(stdout).toMatch(/^cycles\n {2}a → b → a$/m);
    expect(stdout).toContain("c needs ghost; it does not wait for it");
  });

  test("[G-07] what would be speculated, with slots and tokens for every alternative", async () => {
    const { stdout } = await planOf(
      [anIssue("a", "L", [], { dk_risk: "high" }), anIssue("b", "S")],
      "--json",
    );
    const { speculation, schedule } = JSON.parse(stdout);
    expect(speculation).toEqual([
      {
        ...{ id: "a", start: 0, alternatives: 2, because: "risk-on-critical-path" },
        tags: ["speculate:primary", "speculate:alt1"],
      },
    ]);
    expect(schedule[0]).toMatchObject({ id: "a", resources: { slots: 2, tokens: 100_000 } });
    const text = (await planOf([anIssue("a", "L", [], { dk_speculate: true })])).stdout;
    expect(text).toContain("a now, in 2 alternatives (it asks for it)");
  });

  test("[G-07] whether speculation makes all take longer, and by how much", async () => {
    const work = [anIssue("a", "L", [], { dk_risk: "high" }), anIssue("b", "L"), anIssue("c", "M")];
    const longer = "which makes all take 4 h longer: 8 h without";
    expect((await planOf(work, "--slots", "3")).stdout).toContain(longer);
    const json = JSON.parse((await planOf(work, "--slots", "3", "--json")).stdout);
    expect(json).toMatchObject({ makespan: 12, makespanWithoutSpeculation: 8 });
    const online = ["--mode", "online", "--slots", "3"];
    const { stdout } = await runCommand(planCommand(), join(directory, "issues.jsonl"), ...online);
    expect(stdout).toContain(longer);
    expect((await planOf(work, "--slots", "9")).stdout).toContain("without, all takes as long");
    const plain = JSON.parse((await planOf([anIssue("a", "L")], "--json")).stdout);
    expect(plain).toMatchObject({
      makespanWithoutSpeculation: null,
      lowerBoundBy: { code: "critical-path" },
    });
  });

  test("[G-07] online, what is tried in alternatives when it starts; a search decides on what can start now", async () => {
    const work = [
      anIssue("a", "S"),
      anIssue("b", "L", ["a"], { dk_risk: "high" }),
      anIssue("c", "M", ["a"]),
      anIssue("d", "M", ["a"]),
    ];
    const search = (await planOf(work, "--slots", "3")).stdout;
    expect(search).toContain("nothing: only what can start now is decided on");
    const given = [join(directory, "issues.jsonl"), "--mode", "online", "--slots", "3"];
    const online = (await runCommand(planCommand(), ...given)).stdout;
    expect(online).toContain("b at 2 h, in 2 alternatives (risky, and on the critical path)");
    expect(online).not.toContain("only what can start now");
    expect(online).toMatch(/^\* b work b speculate:alt1 +█ lane 2 █+ +2 h → 10 h$/m);
    const json = JSON.parse((await runCommand(planCommand(), ...given, "--json")).stdout);
    expect(json.speculation).toMatchObject([{ id: "b", start: 2, alternatives: 2 }]);
    expect(json.schedule[1].alternatives).toEqual([
      { tag: "speculate:primary", lane: 0 },
      { tag: "speculate:alt1", lane: 1 },
    ]);
  });

  test("that it is partial where something can never start", async () => {
    const work = [
      anIssue("a", "S"),
      anIssue("b", "S", [], { dk_estimated_tokens: 9 }),
      anIssue("c", "S", ["b"]),
    ];
    const { stdout } = await planOf(work, "--tokens", "50000", "--slots", "1");
    expect(stdout).toContain("3 nodes, 2 ready\n");
    const never = [
      anIssue("a", "S"),
      anIssue("b", "S", [], { dk_estimated_tokens: 60_000 }),
      anIssue("c", "S", ["b"]),
    ];
    const partial = (await planOf(never, "--tokens", "50000", "--slots", "1")).stdout;
    expect(partial).toContain("3 nodes, 2 ready (1 can never start)");
    expect(partial).toContain("2 h for the 1 of 3 open nodes that can be planned");
    expect(partial).toContain("1 slot, 50,000 tokens");
  });

  test("[G-09] what has been ready for too long goes first", async () => {
    const since = (hours: number) => ({
      ready_since: new Date(Date.now() - hours * 3_600_000).toISOString(),
    });
    const { stdout } = await planOf([anIssue("long", "XL"), anIssue("old", "S", [], since(30))]);
    expect(stdout).toMatch(/^ {2}1 {2}old work old +now {2}ready for too long$/m);
  });

  test("nothing of it acts on the terminal", async () => {
    const { stdout } = await planOf([anIssue("a\u001b[2J", "M", ["b\u0007"]), anIssue("c", "M")]);
    expect(stdout).not.toContain("\u001b[2J");
    expect(stdout).not.toContain("\u0007");
  });

  test("many nodes share rows, one for each lane, and the lists are cut", async () => {
    const many = Array.from({ length: 90 }, (_, at) => anIssue(`n${at}`, "M"));
    const { stdout } = await planOf(many);
    expect(stdout).toMatch(/^ {2}lane 4 /m);
    expect(stdout).toContain("… and 70 more; --json has all");
  });
});

describe("--diff", () => {
  test("says what moves and how much sooner it ends", async () => {
    const issues = Array.from({ length: 8 }, (_, at) => anIssue(`n${at}`, "M"));
    const { stdout } = await planOf(issues, "--diff", "--slots", "8", "--json");
    const { before, after, moved, sooner } = JSON.parse(stdout);
    expect([before.makespan, after.makespan, sooner]).toEqual([8, 4, 4]);
    expect(moved).toHaveLength(4);
    expect(moved[0]).toMatchObject({ startBefore: 4, startAfter: 0 });
    const text = (await planOf(issues, "--diff", "--slots", "8")).stdout;
    expect(text).toContain("It ends 4 h sooner (50 %).");
    expect(text).toMatch(/^ {2}n\d work n\d +4 h +0 h +−4 h$/m);
  });

  test("says that nothing moves", async () => {
    const { stdout } = await planOf([anIssue("a", "M"), anIssue("b", "M", ["a"])], "--diff", "--slots", "8");
    expect(stdout).toContain("It ends at the same time.\n  No node starts at another time.\n");
  });

  test("shows what becomes possible", async () => {
    const issues = [anIssue("a", "M", [], { dk_estimated_tokens: 600_000 })];
    const { stdout } = await planOf(issues, "--diff", "--tokens", "600000", "--json");
    expect(JSON.parse(stdout).moved).toEqual([{ id: "a", startBefore: null, startAfter: 0 }]);
  });

  test("needs something to compare", async () => {
    expect(await plan("--diff")).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("--slots") });
  });
});

describe("--svg", () => {
  test("writes a chart that is self-contained, light and dark, and escapes what it shows", async () => {
    const path = join(directory, "plan.svg");
    const issue = { ...anIssue("<script>", "M"), title: `"Tom" & 'Jerry' \u0001` };
    const { stderr } = await planOf([issue, anIssue("b", "S")], "--svg", path);
    const svg = await readFile(path, "utf8");
    expect(stderr).toContain(`wrote ${path}`);
    expect(svg).toContain("&lt;script&gt; &quot;Tom&quot; &amp; 'Jerry' \ufffd");
    expect(svg).not.toMatch(/<script|http(?!:\/\/www\.w3\.org\/2000\/svg)/);
    expect(svg).not.toContain("\u0001");
    expect(svg).toContain("prefers-color-scheme: dark");
    expect(svg).toMatch(/class="bar critical"/);
  });

  test("lanes are named whole, or not at all where bars are short", async () => {
    const path = join(directory, "short.svg");
    const short = { ...anIssue("short", "S"), estimated_minutes: 30 };
    await planOf([anIssue("long", "XL"), short], "--svg", path);
    const svg = await readFile(path, "utf8");
    expect([...svg.matchAll(/>(la[^<]*)</g)].map(([, text]) => text)).toEqual(["lane 1"]);
  });

  test("of many nodes it has lanes, and says what it draws together", async () => {
    const path = join(directory, "many.svg");
    const many = Array.from({ length: 1_500 }, (_, at) => anIssue(`n${at}`, at % 2 === 0 ? "XL" : "XS"));
    await planOf(many, "--svg", path, "--slots", "2");
    const svg = await readFile(path, "utf8");
    expect(svg).toContain(">lane 2<");
    expect(svg.match(/<rect/g)?.length).toBeGreaterThan(500);
  });

  test("that cannot be written is an error", async () => {
    expect(await plan("--svg", join(directory, "no", "where.svg"))).toMatchObject({ exitCode: 2 });
  });
});

describe("bad input is named:", () => {
  test("a file that is not there, and a directory without issues", async () => {
    const said = {
      [join(directory, "none")]: /none: no such file$/,
      [directory]: /issues\.jsonl: no such file; of a/,
    };
    for (const [path, message] of Object.entries(said)) {
      const { exitCode, stderr } = await runCommand(planCommand(), path);
      expect([exitCode, stderr]).toEqual([3, expect.stringMatching(message)]);
    }
  });

  test("a format that nobody knows, with those that are known", async () => {
    const path = join(directory, "notes.txt");
    await writeFile(path, "buy milk");
    const { exitCode, stderr } = await runCommand(planCommand(), path);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/Beads.*PSPLIB|PSPLIB.*Beads/s);
  });

  test.each([
    ["--slots", "0"],
    ["--slots", "10001"],
    ["--tokens", "0"],
    ["--resource", "slots=10001"],
    ["--slots", "many"],
    ["--tokens", "-1"],
    ["--effort", "soon"],
    ["--effort", "0s"],
    ["--effort", "100h"],
    ["--schedules", "1.5"],
    ["--resource", "gpu"],
    ["--resource", "gpu=-2"],
    ["--seed", "x"],
    ["--mode", "magic"],
  ])("%s %s", async (option, value) => {
    expect(await plan(`${option}=${value}`)).toMatchObject({ exitCode: 2 });
  });

  test("options that do not go together", async () => {
    expect(await plan("--effort", "1s", "--schedules", "5")).toMatchObject({ exitCode: 2 });
    expect((await plan("--effort", "1h30m", "--schedules", "5")).stderr).toContain("cannot be used with");
    expect(await plan("--mode", "online", "--effort", "1s")).toMatchObject({ exitCode: 2 });
    expect(await plan("--slots", "4", "--resource", "slots=5")).toMatchObject({ exitCode: 2 });
    expect(await plan("--resource", "gpu=1", "--resource", "gpu=2")).toMatchObject({ exitCode: 2 });
  });

  test("a resource that nobody uses is a warning", async () => {
    const { exitCode, stderr } = await plan("--resource", "gpus=2");
    expect(exitCode).toBe(0);
    expect(stderr).toContain("warning: no node uses gpus; they use slots, tokens");
  });

  test("settings that are not there, or are wrong", async () => {
    const path = join(directory, "orrery.yaml");
    await writeFile(path, "scheduling:\n  max_concurrent_workcells: lots\n");
    expect(await plan("--config", path)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("orrery.yaml:2"),
    });
    expect(await plan("--config", `${path}.bak`)).toMatchObject({ exitCode: 3 });
  });
});

describe("where there is nothing to plan", () => {
  test("everything is done", async () => {
    const done = { ...anIssue("a", "M"), status: "closed" };
    const { stdout, exitCode } = await planOf([done]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("nothing to do");
    expect(JSON.parse((await planOf([done], "--json")).stdout)).toMatchObject({
      makespan: 0,
      gap: 0,
      schedule: [],
    });
  });

  test("the file is empty", async () => {
    expect(await planOf([])).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("0 nodes") });
  });
});

test("of a directory the issues of Beads in it are planned", async () => {
  await mkdir(join(directory, ".beads"));
  await writeFile(join(directory, ".beads", "issues.jsonl"), lines(EXAMPLE));
  const { stdout } = await runCommand(planCommand(), directory, "--json");
  await rm(join(directory, ".beads"), { recursive: true });
  expect(JSON.parse(stdout)).toMatchObject({ unit: "hours", makespan: 12 });
});

test("the settings of orrery.yaml count, the command line counts more", async () => {
  const path = join(directory, "two.yaml");
  await writeFile(path, "scheduling:\n  max_concurrent_workcells: 2\n");
  const startsNow = async (...options: readonly string[]): Promise<number> => {
    const { stdout } = await plan("--json", "--schedules", "5", "--config", path, ...options);
    return JSON.parse(stdout).schedule.filter(({ start }: { start: number }) => start === 0).length;
  };
  expect([await startsNow(), await startsNow("--slots", "3")]).toEqual([2, 3]);
});
