import { dirname, join, resolve } from "node:path";
import type { OrreryClient } from "../client/index.ts";
import { lackingHere, local } from "../embedded/index.ts";
import { makeDirectory } from "../files/index.ts";
import type { FileNode, GraphFile } from "../protocol/index.ts";
import { UsageError } from "./errors.ts";
import { readGraphText } from "./graph-text.ts";
import { type KeptResult, runRemotely } from "./remote-run.ts";
import { described, save, summary } from "./result-view.ts";
import type { TasksRunOptions } from "./run.ts";
import { shown } from "./service-text.ts";

const EXTENSIONS = { json: ".json", text: ".txt", bytes: "", clone: ".v8" } as const;
const MAX_CHARS = 200;

/** The whole of `orrery run FILE --tasks FILE`: a service of its own, for as long as the run takes. */
export async function runFunctions(file: string, options: TasksRunOptions): Promise<number> {
  const { tasks, workers, out } = options;
  const { graph } = await readGraphText(file);
  // Before hours of work have nowhere to go.
  if (out !== undefined) {
    await makeDirectory(out).catch((error: Error) => {
      throw new UsageError(`${out}: ${error.message}; choose another with --out`);
    });
  }
  const specs = graph.nodes.map(({ spec }) => spec.task);
  const here = await local({
    tasks,
    executors: [...new Set(specs.map(({ executor }) => executor))],
    capabilities: [...new Set(specs.flatMap(({ capabilities }) => capabilities))],
    // As for every run on this machine.
    cwd: resolve(dirname(file)),
    ...(workers !== undefined && { workers: countOf(workers) }),
  }).catch((error: Error) => {
    throw new UsageError(error.message);
  });
  try {
    refuseImpossible(file, graph, here.tasks);
    const { url: server, key } = here.address;
    return await runRemotely(file, { ...options, server, key }, (client, run, nodes) =>
      keptResults(client, run, nodes, out),
    );
  } finally {
    await here.close();
  }
}

function refuseImpossible(file: string, { nodes }: GraphFile, known: readonly string[]): void {
  const problems = nodes.flatMap((node) => {
    const problem = impossibility(node, known);
    return problem === undefined
      ? []
      : [`${file}:${node.line}: node ${JSON.stringify(node.spec.id)}: ${problem}`];
  });
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
}

function impossibility({ spec, work }: FileNode, known: readonly string[]): string | undefined {
  if (work.kind === "task" && !known.includes(work.type)) {
    const names = known.filter((name) => name !== "command").join(", ");
    return `there is no task ${JSON.stringify(work.type)}; there are ${names}`;
  }
  const lacking = lackingHere(spec.task.cpuMillicores, spec.task.memoryBytes);
  return lacking && `it needs ${lacking}; lower its resources`;
}

/** After this the workers are gone, and all that they held. */
async function keptResults(
  client: OrreryClient,
  run: string,
  nodes: readonly string[],
  directory: string | undefined,
): Promise<KeptResult[]> {
  const results: KeptResult[] = [];
  for (const node of nodes) {
    const raw = await client.rawResult(run, node);
    if (directory === undefined) {
      results.push({ node, json: described(raw), line: `${shown(node)}: ${summary(raw, MAX_CHARS)}` });
      continue;
    }
    const out = join(directory, `${encodeURIComponent(node)}${EXTENSIONS[raw.kind]}`);
    await save(raw, out);
    results.push({ node, json: { ...described(raw), out }, line: `${shown(node)}: ${shown(out)}` });
  }
  return results;
}

function countOf(workers: string): number {
  if (/^[1-9]\d{0,2}$/.test(workers)) return Number(workers);
  throw new UsageError(`--workers must be a whole number from 1 to 999; got ${workers}`);
}
