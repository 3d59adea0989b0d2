import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { canonicalJson, sha256Hex } from "../core/index.ts";
import { type FileNode, type GraphFile, readGraphFile } from "./index.ts";

function read(source: string | Uint8Array, fileName = "graph.yaml"): GraphFile {
  const result = readGraphFile(source, fileName);
  if (!result.ok) throw new Error(result.problems.map((problem) => problem.message).join("\n"));
  return result.graph;
}

/** Problems as `line:column path: message`. */
function problemsOf(source: string | Uint8Array, fileName = "graph.yaml", maxNodes?: number): string[] {
  const result = readGraphFile(source, fileName, maxNodes === undefined ? {} : { maxNodes });
  if (result.ok) throw new Error("the file was read");
  return result.problems.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`);
}

function nodeOf(fields: string): FileNode {
  return read(`nodes: {a: {run: "true", ${fields}}}`).nodes[0] as FileNode;
}

const NIGHTLY = `name: nightly
defaults: {retries: 1, timeout: 10m, env: {LEVEL: info}}
nodes:
  fetch:
    run: curl -s example.org
    resources: {cpu: 0.5, memory: 512MiB}
    estimate: 30s
    priority: high
    retries: 2
    backoff: 1s
    timeout: 5m
    capabilities: [net, disk, net]
    env: {VERSION: 1.10, OFFLINE: false}
    cwd: sub
  train: {task: noop, payload: {epochs: 3}, needs: [fetch, fetch], size: L, hold: true, executor: gpu}
`;

describe("a graph file", () => {
  test("becomes node specifications and work, in the units of the scheduler", () => {
    const graph = read(NIGHTLY);
    expect(graph.name).toBe("nightly");
    expect(graph.nodes).toEqual([
      {
        line: 4,
        work: {
          kind: "command",
          command: "curl -s example.org",
          cwd: "sub",
          env: { LEVEL: "info", VERSION: "1.10", OFFLINE: "false" },
        },
        spec: {
          id: "fetch",
          needs: [],
          done: false,
          requestHash: expect.stringMatching(/^[0-9a-f]{64}$/),
          task: {
            type: "command",
            executor: "local",
            cpuMillicores: 500,
            memoryBytes: 536_870_912,
            estimateMs: 30_000,
            priority: 1,
            capabilities: ["disk", "net"],
            maxAttempts: 3,
            backoffMs: 1000,
            timeoutMs: 300_000,
            held: false,
            limits: [],
          },
        },
      },
      {
        line: 15,
        work: { kind: "task", type: "noop", payload: { epochs: 3 } },
        spec: {
          id: "train",
          needs: ["fetch"],
          done: false,
          requestHash: sha256Hex(canonicalJson({ kind: "task", type: "noop", payload: { epochs: 3 } })),
          task: {
            type: "noop",
            executor: "gpu",
            cpuMillicores: 1000,
            memoryBytes: 0,
            estimateMs: 8 * 3_600_000,
            priority: 2,
            capabilities: [],
            maxAttempts: 2,
            backoffMs: 1000,
            timeoutMs: 600_000,
            held: true,
            limits: [],
          },
        },
      },
    ]);
  });

  test("has the name of the file when it gives none", () => {
    const text = 'nodes: {a: {run: "true"}}';
    expect(read(text, "graphs/daily.v2.yaml").name).toBe("daily.v2");
    expect(read(text, "C:\\graphs\\daily.yml").name).toBe("daily");
    expect(read(text, "-").name).toBe("graph");
    expect(read(`name: 2024\n${text}`).name).toBe("2024");
  });

  test("asks for a core, 30 seconds and a single attempt when it says nothing", () => {
    expect(nodeOf("").spec.task).toEqual({
      type: "command",
      executor: "local",
      cpuMillicores: 1000,
      memoryBytes: 0,
      estimateMs: 30_000,
      priority: 2,
      capabilities: [],
      maxAttempts: 1,
      backoffMs: 1000,
      timeoutMs: 0,
      held: false,
      limits: [],
    });
    expect(nodeOf("resources: {cpu: 0}").spec.task.cpuMillicores).toBe(0);
  });

  test("[G-02] takes a size where an estimate is missing, a node's before the default's", () => {
    expect(nodeOf("size: XS").spec.task.estimateMs).toBe(3_600_000);
    expect(nodeOf("estimate: 5s, size: XS").spec.task.estimateMs).toBe(5000);
    const { nodes } = read('defaults: {estimate: 9s}\nnodes: {a: {run: "true", size: S}, b: {run: "true"}}');
    expect(nodes.map((node) => node.spec.task.estimateMs)).toEqual([7_200_000, 9000]);
  });

  test("may be a list, and keeps the order of the file either way", () => {
    const ids = (text: string): string[] => read(text).nodes.map((node) => node.spec.id);
    expect(
      ids('nodes: [{id: z, run: "true"}, {id: 10, run: "true", needs: z}, {id: 9, run: "true"}]'),
    ).toEqual(["z", "10", "9"]);
    expect(ids('nodes:\n  z: {run: "true"}\n  10: {run: "true"}\n  9: {run: "true"}')).toEqual([
      "z",
      "10",
      "9",
    ]);
    expect(
      ids('{"nodes": {"z": {"run": "x"}, "10": {"run": "x"}, "9": {"run": "x", "needs": [10]}}}'),
    ).toEqual(["z", "10", "9"]);
  });

  test("takes unquoted ids as they are written", () => {
    const { nodes } = read(
      "nodes: {1.10: {run: a}, 7e12: {run: b, needs: [1.10]}, 007: {run: c, needs: 7e12}}",
    );
    expect(nodes.map(({ spec }) => [spec.id, spec.needs])).toEqual([
      ["1.10", []],
      ["7e12", ["1.10"]],
      ["007", ["7e12"]],
    ]);
  });

  test("takes ids that are names of JavaScript's own", () => {
    const text =
      '{"nodes": {"__proto__": {"run": "x"}, "constructor": {"run": "x", "needs": ["__proto__"]}}}';
    for (const source of [text, text.replaceAll('"', "")]) {
      expect(read(source).nodes.map((node) => node.spec.id)).toEqual(["__proto__", "constructor"]);
    }
  });

  test("may use aliases and merges, a hundred and more of one anchor too", () => {
    const uses = Array.from({ length: 300 }, (_, index) => `  n${index}: {<<: *base, env: *env}`);
    const text = `nodes:\n  base: &base {run: "true", retries: 3, env: &env {A: b}}\n${uses.join("\n")}\n  own: {<<: *base, retries: 0}`;
    const { nodes } = read(text);
    expect(nodes).toHaveLength(302);
    expect(nodes.at(-2)?.work).toEqual({ kind: "command", command: "true", cwd: undefined, env: { A: "b" } });
    expect(nodes.slice(-2).map((node) => node.spec.task.maxAttempts)).toEqual([4, 1]);
  });

  test("gives nodes that ask the same of the scheduler one specification", () => {
    const [a, b, c] = read("nodes: {a: {run: x}, b: {run: y}, c: {run: x, retries: 1}}").nodes;
    expect(a?.spec.task).toBe(b?.spec.task);
    expect(a?.spec.task).not.toBe(c?.spec.task);
  });

  test("hashes what the worker is asked, and nothing else", () => {
    const hash = (fields: string): string => nodeOf(fields).spec.requestHash;
    expect(hash("env: {A: a, B: b}")).toBe(hash("env: {B: b, A: a}, timeout: 3s, priority: low"));
    expect(hash("env: {A: a}")).not.toBe(hash("env: {A: b}"));
    expect(hash("cwd: sub")).not.toBe(hash(""));
  });

  test("may begin with a byte order mark and end its lines in any way", () => {
    const bytes = new TextEncoder().encode(
      '\uFEFFnodes:\r\n  a: {run: "true"}\r\n  é: {run: "true", needs: a}\r\n',
    );
    expect(read(bytes).nodes.map((node) => [node.spec.id, node.line])).toEqual([
      ["a", 2],
      ["é", 3],
    ]);
  });

  test("reads the same from JSON as from YAML", () => {
    const id = fc.stringMatching(/^[a-z0-9 .:#-]{1,8}$/);
    const node = fc.record(
      {
        run: fc.string({ minLength: 1 }).map((text) => `echo ${text.replaceAll("\0", "")}`),
        estimate: fc.integer({ min: 1, max: 1000 }),
        retries: fc.nat(100),
        priority: fc.constantFrom("critical", "low", 3),
        resources: fc.record({ cpu: fc.nat(64), memory: fc.nat() }),
        capabilities: fc.array(id),
        env: fc.dictionary(
          fc.stringMatching(/^[A-Z]{1,5}$/),
          fc.string().map((text) => text.replaceAll("\0", "")),
        ),
      },
      { requiredKeys: ["run"] },
    );
    fc.assert(
      fc.property(fc.dictionary(id, node, { minKeys: 1 }), (nodes) => {
        const asJson = read(JSON.stringify({ nodes }), "a.json");
        const asYaml = read(stringify({ nodes }), "a.yaml");
        expect(asYaml.nodes.map(({ spec, work }) => ({ spec, work }))).toEqual(
          asJson.nodes.map(({ spec, work }) => ({ spec, work })),
        );
      }),
    );
  });
});

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

  test("is refused when it is nested so deeply that reading on would end the process", () => {
    const problem = "maps and lists are nested more than 100 deep; flatten them";
    expect(problemsOf("[".repeat(100_000))).toEqual([`1:101 : ${problem}`]);
    expect(problemsOf("- ".repeat(1000))).toEqual([`1:201 : ${problem}`]);
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

describe("large files", () => {
  test("a hundred thousand nodes of JSON are read within three seconds", () => {
    const text = chain(100_000);
    // Processor time: what else the machine does would count on the clock.
    const start = process.cpuUsage();
    expect(read(text, "large.json").nodes).toHaveLength(100_000);
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1e6).toBeLessThan(3);
  });

  test("[P-19] a cycle of a hundred thousand nodes is named whole, and a chain as long is none", () => {
    const [problem, ...others] = problemsOf(chain(100_000, "n99999"), "large.json");
    expect(others).toEqual([]);
    expect(problem?.split(" → ")).toHaveLength(100_001);
    expect(readGraphFile(chain(100_000), "large.json").ok).toBe(true);
  });
});

function chain(length: number, needOfFirst?: string): string {
  const nodes = Array.from({ length }, (_, index) => {
    const need = index === 0 ? needOfFirst : `n${index - 1}`;
    return `"n${index}":{"run":"true","needs":[${need === undefined ? "" : `"${need}"`}],"timeout":"5m"}`;
  });
  return `{"nodes":{${nodes.join(",\n")}}}`;
}

describe("whatever a file holds", () => {
  const linesOf = (source: string | Uint8Array, fileName: string): number[] => {
    const result = readGraphFile(source, fileName);
    if (!result.ok) expect(result.problems.length).toBeGreaterThan(0);
    return result.ok ? [] : result.problems.map((problem) => problem.line);
  };
  const expectLines = (source: string | Uint8Array, fileName = "g.yaml"): void => {
    const lines = linesOf(source, fileName);
    const count = typeof source === "string" ? source.split("\n").length : source.length + 1;
    expect(lines.every((line) => line >= 1 && line <= count)).toBe(true);
    expect(lines).toEqual(lines.toSorted((a, b) => a - b));
  };

  test("garbage is refused or read, never a crash", () => {
    const fragment = fc.constantFrom(
      ..."{}[]:,-&*!|>'\"%@`#?\n\t \\~",
      "nodes:",
      "<<",
      "- ",
      ": ",
      "&a ",
      "*a ",
      "\r\n",
      "---\n",
      "run",
      "\uFEFF",
      "é",
      "\ud800",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.array(fragment).map((parts) => parts.join("")),
        ),
        (text) => {
          expectLines(text);
          expectLines(text, "g.json");
        },
      ),
      { numRuns: 2000 },
    );
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => expectLines(bytes)));
  });

  test("a file with a slip in it is refused or read, never a crash", () => {
    const sources = [
      NIGHTLY,
      JSON.stringify({
        nodes: { a: { run: "x", env: { A: "b" } }, b: { task: "t", needs: ["a"], payload: [1] } },
      }),
    ];
    const slip = fc.record({
      source: fc.constantFrom(...sources),
      at: fc.nat(),
      removed: fc.nat(20),
      added: fc.oneof(
        fc.constantFrom("", "\n", "  ", ":", "{", "}", "[", "]", '"', ",", "*a", "&a ", "null", "-1", ".nan"),
        fc.string({ maxLength: 5 }),
      ),
    });
    fc.assert(
      fc.property(fc.array(slip, { minLength: 1, maxLength: 3 }), ([first, ...more]) => {
        let text = first?.source ?? "";
        for (const { at, removed, added } of [first, ...more].filter((item) => item !== undefined)) {
          const offset = at % (text.length + 1);
          text = text.slice(0, offset) + added + text.slice(offset + removed);
        }
        expectLines(text);
        expectLines(text, "g.json");
      }),
      { numRuns: 2000 },
    );
  });

  test("any JSON value in any place is refused or read, never a crash", () => {
    const keys = [
      "name",
      "defaults",
      "nodes",
      "run",
      "task",
      "needs",
      "id",
      "resources",
      "env",
      "payload",
      "size",
      "cpu",
    ];
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.jsonValue({ maxDepth: 1 }),
        fc.array(tie("tree")),
        tie("map"),
      ),
      map: fc.dictionary(fc.oneof(fc.constantFrom(...keys), fc.string()), tie("tree")),
    }));
    fc.assert(
      fc.property(tree, tree, (node, defaults) => {
        expectLines(JSON.stringify({ nodes: { a: node, b: { run: "x" } }, defaults }));
        expectLines(JSON.stringify({ nodes: [node] }, null, 1));
        expectLines(stringify({ nodes: node, defaults }));
      }),
      { numRuns: 200 },
    );
  });
});
