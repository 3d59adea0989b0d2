import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { problemsOf, read } from "../../tests/graph-text.ts";
import { canonicalJson, sha256Hex } from "../core/index.ts";
import { type FileNode, readGraphFile } from "./index.ts";

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
        payload:
          '{"command":"curl -s example.org","cwd":"sub","env":{"LEVEL":"info","VERSION":"1.10","OFFLINE":"false"}}',
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
            amounts: [],
            risk: "medium",
            speculate: false,
            budget: [],
          },
        },
      },
      {
        line: 15,
        work: { kind: "task", type: "noop", payload: { epochs: 3 } },
        payload: '{"epochs":3}',
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
            amounts: [],
            risk: "medium",
            speculate: false,
            budget: [],
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
      amounts: [],
      risk: "medium",
      speculate: false,
      budget: [],
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

describe("large files", () => {
  test("a hundred thousand nodes of JSON are read within three seconds", () => {
    const text = chain(100_000);
    // Processor time: what else the machine does would count on the clock.
    const start = process.cpuUsage();
    expect(read(text, "large.json").nodes).toHaveLength(100_000);
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1e6).toBeLessThan(3);
  });

  test("[P-19] a cycle of a hundred thousand nodes is named by its first ones, and a chain as long is none", () => {
    const [problem, ...others] = problemsOf(chain(100_000, "n99999"), "large.json");
    expect(others).toEqual([]);
    expect(problem?.split(" → ")).toHaveLength(52);
    expect(problem).toMatch(/ → \(99950 more\) → n0; remove one of them$/);
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
      { numRuns: 800 },
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
      { numRuns: 800 },
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

test("[G-05] limits are names or amounts, tokens are the amount of theirs, and 0 is none", () => {
  const limitsOf = (settings: string) => {
    const result = readGraphFile(`nodes: {a: {run: "true", ${settings}}}`, "g.yaml");
    if (!result.ok) return result.problems.map(({ message }) => message);
    const { limits, amounts } = result.graph.nodes[0]?.spec.task ?? {};
    return [limits, amounts];
  };
  expect(limitsOf("limits: [b, a, b]")).toEqual([["a", "b"], []]);
  expect(limitsOf("limits: {b: 2, a: 1}, tokens: 50000")).toEqual([
    ["a", "b", "tokens"],
    [1, 2, 50_000],
  ]);
  expect(limitsOf("limits: {tokens: 7}, tokens: 0")).toEqual([[], []]);
  expect(limitsOf("limits: {gpu: 1.5}")).toEqual([
    "limits.gpu must be a whole number from 0 to 1000000000; got 1.5",
  ]);
  expect(limitsOf("risk: huge")).toEqual(['risk must be one of low, medium, high, critical; got "huge"']);
});
