import { expansionIdOf } from "../core/index.ts";
import type { Attachment } from "../driver/index.ts";
import { type TaskSpec, type WireGraph, wireSpec } from "../graph/index.ts";
import type { Report, RunLink, RunSubmitted } from "../ledger/index.ts";
import type { Model } from "./model.ts";
import { mayLink, runsAbove } from "./model-links.ts";
import type { ModelTask } from "./model-tasks.ts";
import type { Addition } from "./random-growth.ts";

/** Of so many nodes that are named, one is taken as it comes, though it may be one that cannot be. */
const UNCHECKED = 12;

/** It is never given to a worker. */
const LINK: TaskSpec = {
  type: "link",
  executor: "meta",
  cpuMillicores: 0,
  memoryBytes: 0,
  estimateMs: 1,
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

/** What a graph comes with. */
export function attachedTo({ graph }: RunSubmitted): Attachment {
  const payloads = graph.ids.map((id) => JSON.stringify(id));
  return { type: "run", payloads, settings: payloads };
}

/** The run that an attempt ends by submitting; undefined where its task is not known any more. */
export function growthOf(model: Model, report: Report, addition: Addition): RunSubmitted | undefined {
  const task = model.find(report);
  if (!task) return undefined;
  const { run, node, attempt, startedAt } = report;
  const { zone, agent, publicId, id } = task;
  const { graph, links } = linked(model, task, addition);
  return {
    kind: "RunSubmitted",
    runId: expansionIdOf(publicId, attempt),
    name: `${id} of ${task.run.id}`,
    agent,
    zone,
    onFailure: "cancel",
    graph,
    parent: { run, node, attempt, startedAt, tail: addition.tail, ...(links.length > 0 && { links }) },
  };
}

/** Behind the added nodes one for each node above that they name. */
function linked(
  model: Model,
  task: ModelTask,
  { graph, wishes }: Addition,
): { readonly graph: WireGraph; readonly links: readonly RunLink[] } {
  const links: RunLink[] = [];
  let grown = graph;
  for (const { by, choice } of wishes) {
    const of = nodeAbove(model, task, choice);
    if (!of) continue;
    links.push([grown.ids.length, of.run.number, of.node]);
    grown = withLink(grown, by);
  }
  return { graph: grown, links };
}

function nodeAbove(model: Model, task: ModelTask, choice: number): ModelTask | undefined {
  const above = runsAbove(task.run).flatMap(({ tasks }) => tasks);
  const parent = { run: task.run.number, node: task.node };
  const isGood = ({ run, node }: ModelTask) => mayLink(model, parent, { run: run.number, node });
  const some = choice % UNCHECKED === 0 ? above : above.filter(isGood);
  return some[(choice >>> 4) % Math.max(1, some.length)];
}

function withLink(graph: WireGraph, by: number): WireGraph {
  const link = graph.ids.length;
  const { inputs = [], requests } = graph;
  return {
    ...graph,
    ids: [...graph.ids, `above ${link}`],
    spec: [...graph.spec, graph.specs.length],
    specs: [...graph.specs, wireSpec(LINK)],
    needs: [...graph.needs.map((needs, node) => (node === by ? [link, ...needs] : needs)), []],
    inputs: [...inputs.map((count, node) => (node === by ? count + 1 : count)), 0],
    requests: [...requests, ""],
  };
}
