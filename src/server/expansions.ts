import { expansionIdOf } from "../core/index.ts";
import type { Attachment } from "../driver/index.ts";
import type { AttemptFailed, RunSubmitted } from "../ledger/index.ts";
import { type Report, readGraphFile } from "../protocol/index.ts";
import type { PlacedTask } from "./placed-tasks.ts";
import { runStimulus } from "./stimuli.ts";

interface ExpansionStimulus {
  readonly stimulus: RunSubmitted | AttemptFailed;
  readonly attached?: Attachment;
}

const LIMITS = { maxNodes: 100_000, maxProblems: 10, maxCharacters: 32 * 1024 * 1024 };

/** The run that an attempt ends by submitting; or, where it cannot be one, the failure of the attempt. */
export function expansionOf(task: PlacedTask, report: Report, now: number): ExpansionStimulus | undefined {
  if (report.type !== "finished" || !report.expansion) return undefined;
  const { run, node, zone, agent, spec } = task;
  const of = { run, node, attempt: report.attempt, startedAt: Math.min(report.started_at, now) };
  const fails = (code: string, message: string): ExpansionStimulus => ({
    stimulus: { kind: "AttemptFailed", ...of, code, message, costMicros: 0, retry: false },
  });
  if (!task.inputs || !spec.mayAdd)
    return fails("not-dynamic", "it returned nodes for its run, and was not submitted as dynamic");
  const { graph: given, result } = report.expansion;
  const read = readGraphFile(JSON.stringify(given), "expansion.json", LIMITS);
  if (!read.ok)
    return fails("bad-expansion", `the nodes that it returned: ${read.problems[0]?.message ?? ""}`);
  const { nodes } = read.graph;
  if (nodes.length > spec.mayAdd)
    return fails("too-many-nodes", `it returned ${nodes.length} nodes and may add ${spec.mayAdd}`);
  const tail = nodes.findIndex(({ spec: { id } }) => id === result);
  if (tail === -1) return fails("bad-expansion", `the nodes that it returned have none called ${result}`);
  const name = `${task.nodeId ?? "expansion"} of ${task.runId ?? "a run"}`;
  const { stimulus, attached } = runStimulus({ zone, agent }, expansionIdOf(task.id, report.attempt), {
    graph: { ...read.graph, name },
    failFast: true,
  });
  return { stimulus: { ...stimulus, parent: { ...of, tail } }, attached };
}
