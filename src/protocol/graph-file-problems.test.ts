import { describe, expect, test } from "vitest";
import { problemsOf, read } from "../../tests/graph-text.ts";
import { readGraphFile } from "./index.ts";

describe("a graph that cannot run", () => {
  test("[P-19] names the whole cycle, in order, at its first node", () => {
    const text = `nodes:
  start: {run: x}
  a: {run: x, needs: [start, b]}
  b: {run: x, needs: [c]}
  c: {run: x, needs: [a]}
  after: {run: x, needs: [a]}`;
    expect(problemsOf(text)).toEqual([
      "3:30 nodes.a.needs[1]: needs run in a circle, each node needing the next: a → b → c → a; remove one of them",
    ]);
  });

  test("[P-19] names separate cycles once each, and ten at most", () => {
    const pairs = Array.from(
      { length: 12 },
      (_, i) => `  a${i}: {run: x, needs: b${i}}\n  b${i}: {run: x, needs: a${i}}`,
    );
    const problems = problemsOf(`nodes:\n${pairs.join("\n")}`);
    expect(problems.filter((problem) => problem.includes("circle, each"))).toHaveLength(10);
    expect(problems.at(0)).toBe("1:1 nodes: nodes has 2 more circles of needs than those named");
    expect(problems.at(1)).toContain("a0 → b0 → a0");
  });

  test("[P-19] names a node that needs itself", () => {
    expect(problemsOf("nodes:\n  a: {run: x, needs: a}")).toEqual([
      '2:22 nodes.a.needs: node "a" needs itself; remove it from its own needs',
    ]);
  });

  test("[P-19] names a need that is not there, and what was probably meant", () => {
    expect(problemsOf("nodes:\n  fetch: {run: x}\n  b: {run: x, needs: [fetch, fecth, nowhere]}")).toEqual([
      '3:30 nodes.b.needs[1]: node "b" needs "fecth", which is not in the file; did you mean "fetch"?',
      '3:37 nodes.b.needs[2]: node "b" needs "nowhere", which is not in the file; add that node or remove the need',
    ]);
  });

  test("[P-19] names both lines of an id that is used twice, as a key or in a list", () => {
    const message = 'node id "a" is used twice, first on line 2; rename one of the two';
    expect(problemsOf("nodes:\n  a: {run: x}\n  b: {run: x}\n  a: {run: y}")).toEqual([
      `4:3 nodes.a: ${message}`,
    ]);
    expect(problemsOf('nodes:\n  1: {run: x}\n  "1": {run: x}')).toEqual([
      '3:3 nodes.1: node id "1" is used twice, first on line 2; rename one of the two',
    ]);
    expect(problemsOf("nodes:\n- {id: a, run: x}\n- {id: b, run: x}\n- {id: a, run: y}")).toEqual([
      `4:8 nodes[2].id: ${message}`,
    ]);
    expect(problemsOf('{"nodes": {\n "a": {"run": "x"},\n "b": {"run": "x"},\n "a": {"run": "y"}}}')).toEqual(
      [`4:2 nodes.a: ${message}`],
    );
  });

  test("[P-19] has a number that would be read as another one", () => {
    const wrong = (at: string, path: string, digits: string) =>
      `${at} ${path}: ${digits} has more digits than a number can; put it in quotes`;
    expect(
      problemsOf("nodes:\n  a: {task: t, payload: {id: 9007199254740993, b: [+9223372036854775807]}}"),
    ).toEqual([
      wrong("2:30", "nodes.a.payload.id", "9007199254740993"),
      wrong("2:52", "nodes.a.payload.b[0]", "+9223372036854775807"),
    ]);
    expect(
      problemsOf('{"nodes": {"a": {"task": "t", "payload": {"id": [-9007199254740993]}}}}', "g.json"),
    ).toEqual([wrong("1:50", "nodes.a.payload.id[0]", "-9007199254740993")]);
    const fine =
      "id: 9007199254740992, b: '9007199254740993', c: 1000000000000000000000, d: 0.12345678901234567";
    expect(() => read(`nodes:\n  90071992547409931: {task: t, payload: {${fine}}}`)).not.toThrow();
  });

  test("[P-19] has more nodes than allowed", () => {
    expect(problemsOf("nodes: {a: {run: x}, b: {run: x}, c: {run: x}}", "g.yaml", 2)).toEqual([
      "1:1 nodes: nodes has 3 entries and the limit is 2; split the graph",
    ]);
  });
});

describe("a node that cannot be read", () => {
  test.each([
    ["timout: 3s", 'unknown key "timout" in node "a"; did you mean "timeout"?'],
    ["neds: b", 'unknown key "neds" in node "a"; did you mean "needs"?'],
    ["depends_on: b", 'unknown key "depends_on" in node "a"; did you mean "needs"?'],
    ["cpu: 1", 'unknown key "cpu" in node "a"; write resources: {cpu: …}'],
    ["resources: {cpus: 1}", 'unknown key "cpus" in resources; did you mean "cpu"?'],
    ["xyzzy: 1", 'unknown key "xyzzy" in node "a"; the keys here are'],
    ["id: a", 'id does not belong into node "a"'],
    ["task: noop", 'node "a" has both run and task; remove one'],
    ["payload: {}", "payload only goes with task"],
    ["timeout: soon", 'timeout must be a duration such as 90s, 1h30m, "250ms" or 2d'],
    ["timeout: -1", "timeout must not be negative; got -1"],
    ["timeout: 0.0001", "timeout must be at least 1ms"],
    ["timeout:", "timeout must be a duration"],
    ["estimate: .inf", "estimate must be a finite number; got Infinity"],
    ["estimate: 0", "estimate must be at least 1ms; got 0"],
    ["backoff: .nan", "backoff must be a finite number; got NaN"],
    ["retries: 101", "retries must be a whole number from 0 to 100; got 101"],
    ["retries: 0.5", "retries must be a whole number"],
    ["priority: urgent", "priority must be critical, high, normal, low or best_effort"],
    ["size: XXL", "size must be XS, S, M, L or XL"],
    ["hold: yes", 'hold must be true or false; got "yes"'],
    ["executor: []", "executor must be a text; got a list"],
    ["capabilities: {a: b}", "capabilities must be a list of texts"],
    ["capabilities: [a, 1.5]", "capabilities.1 must be a text in quotes; got 1.5"],
    ["resources: 3", "resources must be a map such as {cpu: 0.5, memory: 512MiB}"],
    ["resources: {cpu: -1}", "resources.cpu must not be negative"],
    ["resources: {memory: 5parsecs}", "resources.memory must be a whole number of bytes"],
    ["env: [A]", "env must be a map"],
    ["env: {A: }", "env.A must be a text"],
    ["env: {A=B: c}", 'env must not have a variable "A=B"'],
    ["cwd: 3", "cwd must be a text"],
    ["needs: {b: c}", "needs must be an id or a list of ids"],
    ["needs: [[b]]", "an id in needs must be a text; got a list"],
  ])("is refused for %s", (fields, message) => {
    const problems = problemsOf(`nodes:\n  a: {run: x, ${fields}}`);
    expect(problems).toEqual([expect.stringContaining(message)]);
    expect(problems[0]).toMatch(/^2:\d+ nodes\.a\b/);
  });

  test.each([
    ["{}", 'node "a" has neither run nor task; add run: "…" or task: "…"'],
    ["echo hello", 'node "a" must be a map such as {run: "echo hello"}; got "echo hello"'],
    ['{run: " "}', "run must not be empty"],
    ['{run: "a\\0b"}', "run must not contain NUL"],
    ["{run: 3}", "run must be a text; got 3"],
    ["{task: command}", 'task must not be "command"'],
    ["{task: x, env: {A: b}}", "env only goes with run"],
    ["{task: x, payload: [1, .nan]}", "payload.1 must be a finite number; got NaN"],
    ['{task: x, payload: {a: "\\ud800"}}', "payload.a must not contain broken Unicode"],
  ])("is refused as %s", (node, message) => {
    expect(problemsOf(`nodes:\n  a: ${node}`)).toEqual([expect.stringContaining(message)]);
  });

  test("[Q-01] may not ask for more than 1 MiB of JSON", () => {
    const node = (bytes: number): string =>
      JSON.stringify({ nodes: { a: { task: "t", payload: "é".repeat(bytes / 2) } } });
    expect(read(node(1024 * 1024 - 100)).nodes).toHaveLength(1);
    expect(problemsOf(node(1024 * 1024))).toEqual([
      expect.stringContaining('payload of node "a" must fit into 1 MiB'),
    ]);
  });

  test("[D-08] may not have more than 1 MiB of arguments, and it is said what takes more", () => {
    const file = JSON.stringify({ nodes: { a: { task: "t", args: ["x".repeat(1024 * 1024)] } } });
    expect(problemsOf(file)).toEqual([
      expect.stringMatching(
        /args of node "a" must fit into 1 MiB .*g\.value\(\), or keep large data in files/,
      ),
    ]);
  });

  test("has an id of at most 256 visible characters", () => {
    expect(read(JSON.stringify({ nodes: { ["🪐".repeat(256)]: { run: "x" } } })).nodes).toHaveLength(1);
    expect(problemsOf(JSON.stringify({ nodes: { ["🪐".repeat(257)]: { run: "x" } } }))).toEqual([
      expect.stringContaining("a node's id must have at most 256 characters"),
    ]);
    expect(problemsOf('nodes: {"a\\nb": {run: x}, "": {run: x}}')).toEqual([
      expect.stringContaining("a node's id must not contain control characters"),
      expect.stringContaining("a node's id must not be empty"),
    ]);
  });

  test("is reported with all others, in the order of the file, at the value or key that is wrong", () => {
    const text = `nods: 1
nodes:
  a:
    run: x
    timeout: soon
    needs: [c]
  b: {needs: a}
defaults: {retries: -1, run: x}`;
    expect(problemsOf(text).map((problem) => problem.split(": ")[0])).toEqual([
      "1:1 nods",
      "5:14 nodes.a.timeout",
      "6:13 nodes.a.needs[0]",
      "7:3 nodes.b",
      "8:21 defaults.retries",
      "8:25 defaults.run",
    ]);
    expect(problemsOf(text)[0]).toContain('did you mean "nodes"?');
  });

  test("is pointed at through aliases and merges", () => {
    const text =
      "nodes:\n  a: &a {run: x, resources: &r {cpu: one}}\n  b: {run: x, resources: *r}\n  c:\n    <<: *a";
    expect(problemsOf(text).map((problem) => problem.split(" ")[0])).toEqual(["2:38", "3:26", "5:5"]);
  });

  test("is one of fifty that are told, and the rest is counted", () => {
    const nodes = Array.from({ length: 20_000 }, (_, index) => `"n${index}": {"run": "x", "timeout": -1}`);
    const problems = problemsOf(`{"nodes": {\n${nodes.join(",\n")}}}`);
    expect(problems).toHaveLength(51);
    expect(problems[49]).toBe("51:32 nodes.n49.timeout: timeout must not be negative; got -1");
    expect(problems[50]).toBe("52:32 : and 19950 more");
  });

  test("ends the reading where only so many are wanted", () => {
    const nodes = Array.from({ length: 500 }, (_, index) => `"n${index}": {"run": "x", "timeout": -1}`);
    const result = readGraphFile(`{"nodes": {\n${nodes.join(",\n")}}}`, "g.json", { maxProblems: 100 });
    expect(result.ok ? [] : result.problems.map(({ message }) => message).slice(49)).toEqual([
      "timeout must not be negative; got -1",
      "and at least 50 more",
    ]);
  });

  test("says what may have been meant for the first twenty, and in a graph of a thousand nodes", () => {
    const graph = (known: number) =>
      JSON.stringify({
        nodes: Object.fromEntries([
          ...Array.from({ length: known }, (_, n) => [`fetch-${n}`, { run: "x" }]),
          ...Array.from({ length: 30 }, (_, n) => [`node-${n}`, { run: "x", needs: [`fetsh-${n}`] }]),
        ]),
      });
    const guesses = (known: number) =>
      problemsOf(graph(known)).filter((problem) => problem.includes("did you mean"));
    expect(guesses(30)).toHaveLength(20);
    expect(guesses(970)).toHaveLength(20);
    expect(guesses(971)).toHaveLength(0);
  });
});

describe("a file that is no graph", () => {
  test.each([
    ["", "1:1 : the file is empty; add a map such as nodes:"],
    ["# nothing yet\n", "1:1 : the file is empty"],
    ["---\n", "1:1 : the file is empty"],
    ["- a\n- b", "1:1 : the file must be a map, not a list"],
    ["hello", '1:1 : the file must be a map, not "hello"'],
    ["name: x", "1:1 : nodes is missing"],
    ["nodes:", "1:7 nodes: nodes must be a map of ids to nodes"],
    ["nodes: {}", "1:1 nodes: nodes is empty"],
    ["nodes: []", "1:1 nodes: nodes is empty"],
    ["nodes: [{run: x}]", "1:9 nodes[0]: a node in a list must be a map with an id"],
    ["nodes: {a: {run: x}}\n---\nnodes: {}", "2:1 : a second document begins here"],
    [
      "nodes:\n\ta: {run: x}",
      "2:1 : not valid YAML: Tabs are not allowed as indentation; indent with spaces",
    ],
    ["nodes:\n  a: {run: x", "2:13 : not valid YAML: Flow map in block collection must be"],
    ["nodes:\n  a:\n    run: echo a: b", "3:10 : not valid YAML: Nested mappings are not allowed"],
    ["nodes: {a: {run: x, run: y}}", '1:21 nodes.a.run: key "run" is given twice, first on line 1'],
    ["nodes: {a: *b}", "1:12 nodes.a: the alias *b stands for nothing"],
    ["nodes: &a {b: *a}", "1:15 nodes.b: the alias *a stands for nothing"],
    ["nodes: !custom {a: {run: x}}", "1:8 : not supported: Unresolved tag: !custom; remove it"],
    ["nodes: !!omap [a: {run: x}]", "1:15 nodes: the tag !!omap is not supported"],
    ["nodes: {[a]: {run: x}}", "1:9 nodes: a key must be a single word or text"],
    ["%YAML 1.1\n---\nnodes: {a: {run: x}}", "1:1 : YAML 1.1 is not read"],
    ["nodes: {a: {<<: b, run: x}}", "1:17 nodes.a: << must be followed by an alias of a map"],
    ["\0\0\0", "1:1 : not a text file: it contains NUL bytes"],
  ])("%j is refused with the place", (text, problem) => {
    expect(problemsOf(text)).toEqual([expect.stringContaining(problem)]);
  });

  test("is refused soon where it has a fault at every character", () => {
    const [first, ...others] = problemsOf(`nodes: [${",".repeat(4_000_000)}]`);
    expect(first).toMatch(/a comma has nothing before it; remove it$/);
    expect(others).toEqual([]);
    const few = problemsOf(`nodes: [a${",".repeat(900)}]`);
    expect(few).toEqual([expect.stringMatching(/not valid YAML: Unexpected ,/)]);
  });

  test("is refused when it is nested so deeply that reading on would end the process", () => {
    const problem = "maps and lists are nested more than 100 deep; flatten them";
    expect(problemsOf("[".repeat(100_000))).toEqual([`1:101 : ${problem}`]);
    expect(problemsOf("- ".repeat(1000))).toEqual([`1:201 : ${problem}`]);
    expect(problemsOf("nodes: {a: ".repeat(10_000))).toEqual([`1:551 : ${problem}`]);
    // As many levels at once as would take more memory than there is.
    expect(problemsOf("{".repeat(4 * 1024 * 1024))).toEqual([`1:101 : ${problem}`]);
    expect(problemsOf(`${'{"a":'.repeat(500)}1${"}".repeat(500)}`)).toEqual([`1:501 : ${problem}`]);
  });

  test("is told as JSON when its name says so", () => {
    expect(problemsOf('{"nodes": {\n "a": {"run": "x"},\n}}', "g.json")).toEqual([
      '3:1 : not valid JSON: expected a key where there is "}"',
    ]);
    expect(problemsOf('{"nodes": {', "g.json")).toEqual([
      "1:12 : not valid JSON: expected a key or } where the file ends",
    ]);
  });

  test("may be bytes that are not UTF-8", () => {
    expect(problemsOf(Uint8Array.of(0x61, 0x0a, 0xc3, 0x28, 0x0a))).toEqual([
      "2:1 : not a text file: it is not valid UTF-8; save it as UTF-8",
    ]);
    expect(problemsOf(Uint8Array.of(0xff, 0xfe, 0x61, 0x00))).toEqual([
      expect.stringContaining("not a text file"),
    ]);
  });

  test("may hide billions of values behind aliases", () => {
    const levels = Array.from(
      { length: 12 },
      (_, i) => `l${i + 1}: &l${i + 1} [${Array(10).fill(`*l${i}`).join(", ")}]`,
    );
    const text = `l0: &l0 [x]\n${levels.join("\n")}\nnodes: {a: {task: t, payload: *l12}}`;
    expect(problemsOf(text)).toEqual([expect.stringContaining("stand for more than 1000000 values")]);
  });
});
