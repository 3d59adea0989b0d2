import { expansionIdOf } from "../core/index.ts";
import type { Attachment } from "../driver/index.ts";
import type { NodeSpec, TaskSpec } from "../graph/index.ts";
import type { AttemptFailed, RunLink, RunSubmitted } from "../ledger/index.ts";
import { type FileNode, META_EXECUTOR, type Report, readGraphFile } from "../protocol/index.ts";
import { excessOf, linkRefusal, nodeAbove, type State } from "../scheduler/index.ts";
import type { PlacedTask } from "./placed-tasks.ts";
import { excessText } from "./refusals.ts";
import { runStimulus } from "./stimuli.ts";

/** How far below the run that was submitted: their ends and cancellations go from one to the next, in one turn. */
const MAX_DEPTH = 1_000;

interface ExpansionStimulus {
  readonly stimulus: RunSubmitted | AttemptFailed;
  readonly attached?: Attachment;
}

const LIMITS = {
  maxNodes: 100_000,
  maxProblems: 10,
  maxCharacters: 32 * 1024 * 1024,
  // What they name is looked for in the run.
  isOutside: () => true,
};

/** The run that an attempt ends by submitting; or, where it cannot be one, the failure of the attempt. */
export function expansionOf(
  state: State,
  task: PlacedTask,
  report: Report,
  now: number,
): ExpansionStimulus | undefined {
  if (report.type !== "finished" || !report.expansion) return undefined;
  const { run, node, zone, agent } = task;
  const of = {
    run,
    node,
    attempt: report.attempt,
    startedAt: Math.min(state.ledgerTime(report.started_at), now),
  };
  const read = readExpansion(state, task, report.expansion);
  if ("code" in read)
    return { stimulus: { kind: "AttemptFailed", ...of, ...read, costMicros: 0, retry: false } };
  const { nodes, tail, links } = read;
  const name = `${task.nodeId ?? "expansion"} of ${task.runId ?? "a run"}`;
  const { stimulus, attached } = runStimulus({ zone, agent }, expansionIdOf(task.id, report.attempt), {
    graph: { name, nodes },
    failFast: true,
  });
  const parent = { ...of, tail, ...(links.length > 0 && { links }) };
  const excess = excessOf(state, { ...stimulus, parent });
  // There may be room when the task is tried again.
  if (excess)
    return {
      stimulus: {
        kind: "AttemptFailed",
        ...of,
        code: "backlog",
        message: `the nodes that it returned: ${excessText(excess)}`,
        costMicros: 0,
        retry: excess.asked <= excess.most,
      },
    };
  return { stimulus: { ...stimulus, parent }, attached };
}

interface Expansion {
  readonly nodes: readonly FileNode[];
  /** The node whose result it is. */
  readonly tail: number;
  readonly links: readonly RunLink[];
}

interface Failure {
  readonly code: string;
  readonly message: string;
}

type Given = NonNullable<Extract<Report, { type: "finished" }>["expansion"]>;

function readExpansion(state: State, task: PlacedTask, { graph, result }: Given): Expansion | Failure {
  const { inputs, spec } = task;
  if (!inputs || !spec.mayAdd)
    return {
      code: "not-dynamic",
      message: "it returned nodes for its run, and was not submitted as dynamic",
    };
  if (isDeep(state, task.run))
    return {
      code: "expansion-too-deep",
      message: `it is ${MAX_DEPTH} expansions below the run that was submitted, which is the most; do more in each of them`,
    };
  const read = readGraphFile(JSON.stringify(graph), "expansion.json", LIMITS);
  if (!read.ok) return bad(read.problems[0]?.message ?? "");
  const { nodes } = read.graph;
  if (nodes.length > spec.mayAdd)
    return {
      code: "too-many-nodes",
      message: `it returned ${nodes.length} nodes and may add ${spec.mayAdd}`,
    };
  const linked = linksOf(state, task, nodes);
  if ("code" in linked) return linked;
  const tail = nodes.findIndex(({ spec: { id } }) => id === result);
  if (tail === -1)
    return { code: "bad-expansion", message: `the nodes that it returned have none called ${result}` };
  const kept = nodes.map((node, at) => (at === tail ? keeping(node) : node));
  return { nodes: [...kept, ...linked.nodes], tail, links: linked.links };
}

function isDeep(state: State, run: number): boolean {
  let depth = 0;
  for (let at = state.runs.get(run)?.parent; at && depth < MAX_DEPTH; depth++)
    at = state.runs.get(at.run)?.parent;
  return depth === MAX_DEPTH;
}

function keeping(node: FileNode): FileNode {
  return { ...node, spec: { ...node.spec, keep: true } };
}

function bad(problem: string): Failure {
  return { code: "bad-expansion", message: `the nodes that it returned: ${problem}` };
}

/** Behind the added nodes one for each of the run that they name. */
function linksOf(
  state: State,
  task: PlacedTask,
  nodes: readonly FileNode[],
): Failure | { readonly nodes: readonly FileNode[]; readonly links: readonly RunLink[] } {
  const added = new Set(nodes.map(({ spec }) => spec.id));
  const named = new Set(nodes.flatMap(({ spec }) => spec.needs).filter((id) => !added.has(id)));
  const links: RunLink[] = [];
  for (const id of named) {
    const of = nodeAbove(state, task.run, id);
    const refusal = of ? linkRefusal(state, task, of) : "unknown";
    if (!of || refusal) return bad(`they name ${JSON.stringify(id)}, ${REFUSED[refusal ?? "unknown"]}`);
    links.push([nodes.length + links.length, of.run, of.node]);
  }
  return { nodes: [...named].map(linkNode), links };
}

const REFUSED = {
  unknown: "which is neither one of them nor in its run",
  ended: "of its run, which has ended without a result",
  circle: "of its run, which waits for the node that adds them",
} as const;

/** It is never given to a worker. */
const LINK: TaskSpec = {
  type: "link",
  executor: META_EXECUTOR,
  cpuMillicores: 0,
  memoryBytes: 0,
  estimateMs: 1,
  // The least: a run is as urgent as the most urgent of its nodes.
  priority: 4,
  capabilities: [],
  maxAttempts: 1,
  backoffMs: 0,
  timeoutMs: 0,
  held: false,
  limits: [],
  amounts: [],
  risk: "medium",
  speculate: false,
  budget: [],
};

function linkNode(id: string): FileNode {
  const spec: NodeSpec = { id, needs: [], task: LINK, requestHash: "", done: false };
  return { spec, work: { kind: "task", type: LINK.type, payload: {} }, payload: "{}", line: 0 };
}
