import {
  BatchBody,
  type ErrorItem,
  RunBody,
  type SubmitBody,
  SubmitBody as SubmitBodySchema,
} from "../../protocol/api-schemas.ts";
import { type GraphFileResult, readGraphFile, readGraphValue } from "../../protocol/index.ts";
import type { RunSubmission, TaskSubmission } from "../api.ts";
import { readJsonText } from "./json-body.ts";
import { invalid, Problem } from "./problems.ts";
import { readSubmission } from "./submission.ts";
import { checkOf } from "./validation.ts";

// Reads the bodies that can be large: on the main thread where they are small, and on the body thread where they are not.

const MAX_YAML_CHARACTERS = 128 * 1024;
/** Bounds the time that reading takes for a graph that is all wrong, or larger than it looks. */
const LIMITS = { maxNodes: 100_000, maxProblems: 100, maxCharacters: 32 * 1024 * 1024 };

/** How a body is to be read. */
export type BodyForm =
  | { readonly of: "task"; readonly idempotencyKey: string | undefined }
  | { readonly of: "batch" }
  | { readonly of: "run"; readonly isYaml: boolean; readonly options: RunOptions };

export interface RunOptions {
  readonly name?: string;
  readonly id?: string;
  readonly fail_fast?: boolean;
}

/** The content of a body: a list of tasks, or of the nodes of a run with the rest of the run. */
export type BodyContent =
  | { readonly of: "tasks"; readonly items: readonly TaskSubmission[] }
  | { readonly of: "run"; readonly items: RunSubmission["graph"]["nodes"]; readonly run: RunSubmission };

let checkTask: ReturnType<typeof checkOf> | undefined;
let checkBatch: ReturnType<typeof checkOf> | undefined;
let checkRun: ReturnType<typeof checkOf> | undefined;

/** Returns the content of a body, or throws the problem with it. */
export function readBody(form: BodyForm, text: string): BodyContent {
  if (form.of === "run") {
    const run = readRun(text, form);
    return { of: "run", items: run.graph.nodes, run: { ...run, graph: { ...run.graph, nodes: [] } } };
  }
  const body = readJsonText(text);
  if (form.of === "batch") {
    checkBatch ??= checkOf(BatchBody, "body");
    throwIfWrong(checkBatch(body));
    return { of: "tasks", items: readTasks((body as BatchBody).tasks) };
  }
  checkTask ??= checkOf(SubmitBodySchema, "body");
  throwIfWrong(checkTask(body));
  return { of: "tasks", items: [readTask(body as SubmitBody, form.idempotencyKey)] };
}

export function readTask(body: SubmitBody, idempotencyKey: string | undefined): TaskSubmission {
  const reading = readSubmission(withKey(body, idempotencyKey));
  if (!reading.ok) throw invalid(reading.errors);
  return reading.submission;
}

export function readTasks(bodies: readonly SubmitBody[]): TaskSubmission[] {
  const errors: ErrorItem[] = [];
  const submissions: TaskSubmission[] = [];
  for (const [index, body] of bodies.entries()) {
    const reading = readSubmission(body, `/tasks/${index}`);
    if (reading.ok) submissions.push(reading.submission);
    else errors.push(...reading.errors);
  }
  throwIfWrong(errors.slice(0, 100));
  return submissions;
}

/** The key may stand in the header or in the body; two different ones contradict each other. */
function withKey(body: SubmitBody, header: string | undefined): SubmitBody {
  if (header === undefined) return body;
  const inBody = body.idempotency_key ?? header;
  if (inBody !== header) {
    const detail = "differs from the Idempotency-Key header; send one of the two";
    throw invalid([{ in: "body", pointer: "/idempotency_key", detail }]);
  }
  return { ...body, idempotency_key: header };
}

function readRun(text: string, { isYaml, options: query }: BodyForm & { of: "run" }): RunSubmission {
  if (isYaml && text.length > MAX_YAML_CHARACTERS)
    throw new Problem("too-large", "YAML may have 128 KiB; send larger graphs as JSON");
  if (text.trim() === "") {
    throw invalid([
      { in: "body", pointer: "", detail: "is missing; send a graph such as {nodes: {hello: {task: greet}}}" },
    ]);
  }
  const json = isYaml ? undefined : readJsonText(text, { refuse: refuseManyNodes });
  if (!isEnvelope(json)) {
    const fileName = `${query.name ?? "graph"}.${isYaml ? "yaml" : "json"}`;
    return submissionOf(graphOf(readGraphFile(text, fileName, LIMITS), ""), query);
  }
  checkRun ??= checkOf(RunBody, "body");
  throwIfWrong(checkRun(json));
  const { graph, ...options } = json as RunBody;
  const read = readGraphValue(graph, "graph.json", LIMITS);
  return submissionOf(graphOf(read, "/graph"), { ...query, ...options });
}

function throwIfWrong(errors: readonly ErrorItem[]): void {
  if (errors.length > 0) throw invalid(errors);
}

/** Refuses a graph with too many nodes at once: even listing its problems would take too long. */
function refuseManyNodes(json: unknown): void {
  const { graph = json } = (json ?? {}) as { readonly graph?: unknown };
  const { nodes } = (graph ?? {}) as { readonly nodes?: unknown };
  const count = typeof nodes === "object" && nodes !== null ? Object.keys(nodes).length : 0;
  if (count <= LIMITS.maxNodes) return;
  const detail = `nodes has ${count} entries and the limit is ${LIMITS.maxNodes}; split the graph`;
  throw new Problem("too-many-nodes", detail);
}

/** Whether the body is a request with a graph in it. A graph file has nodes instead. */
function isEnvelope(json: unknown): boolean {
  return typeof json === "object" && json !== null && Object.hasOwn(json, "graph");
}

function submissionOf(
  graph: RunSubmission["graph"],
  { name, id, fail_fast = false }: RunOptions,
): RunSubmission {
  return { id, graph: name === undefined ? graph : { ...graph, name }, failFast: fail_fast };
}

function graphOf(result: GraphFileResult, pointer: string): RunSubmission["graph"] {
  if (result.ok) return result.graph;
  const isFile = pointer === "";
  const errors = result.problems.map(({ line, column, path, message }): ErrorItem => {
    const place = isFile ? { line, column } : {};
    return { in: "body", pointer, detail: message, path, ...place };
  });
  const [first] = result.problems;
  const where = first && isFile ? `line ${first.line}: ` : "";
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  throw new Problem("invalid-graph", `${where}${first?.message ?? ""}${more}`, { errors });
}
