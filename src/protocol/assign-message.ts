import type { Assignment } from "./worker-messages.ts";

type AssignedData = NonNullable<Assignment["data"]>;
type AssignedInput = AssignedData["inputs"][number];

/** An assignment whose payload and small inputs are the JSON texts that are stored: to most workers they go as they are. */
export interface GivenAssignment extends Omit<Assignment, "payload" | "data"> {
  payload: string;
  data?: GivenData;
}

export interface GivenData extends Omit<AssignedData, "inputs"> {
  readonly inputs: readonly GivenInput[];
}

export interface GivenInput extends Omit<AssignedInput, "value"> {
  readonly value?: string;
}

export function assignmentOf(given: GivenAssignment): Assignment {
  const payload = JSON.parse(given.payload) as unknown;
  const { data } = given;
  if (!data) return { ...given, payload } as Assignment;
  return { ...given, payload, data: { ...data, inputs: data.inputs.map(inputOf) } };
}

function inputOf(given: GivenInput): AssignedInput {
  if (given.value === undefined) return given as AssignedInput;
  return { ...given, value: JSON.parse(given.value) as unknown };
}

/** What the assignments of one message mostly have in common. */
const SHARED = ["task_type", "executor", "zone", "agent", "timeout_ms", "run"] as const;
type Shared = (typeof SHARED)[number];

/** What is said to a worker over WebSocket. What all of several have in common is said once. */
export function assignText(given: readonly GivenAssignment[]): string {
  const [first] = given;
  if (!first || given.length === 1) return messageOf(given, "", SHARED, false);
  const isCommon = (key: Shared): boolean => given.every((one) => one[key] === first[key]);
  const token = first.data?.token;
  const hasToken = token !== undefined && given.every(({ data }) => data?.token === token);
  const members = membersOf(first, SHARED.filter(isCommon));
  const common = `${members}${hasToken ? `,"data":{"token":${JSON.stringify(token)}}` : ""}`;
  const own = SHARED.filter((key) => !isCommon(key));
  return messageOf(given, common === "" ? "" : `"common":{${common.slice(1)}},`, own, hasToken);
}

function messageOf(
  given: readonly GivenAssignment[],
  common: string,
  keys: readonly Shared[],
  hasToken: boolean,
): string {
  let text = "";
  for (const one of given) {
    const { task, attempt, node, payload, data } = one;
    if (text !== "") text += ",";
    text += `{"task":"${task}","attempt":${attempt},"payload":${payload}`;
    if (node !== undefined) text += `,"node":${quoted(node)}`;
    if (keys.length > 0) text += membersOf(one, keys);
    if (isSpecial(one)) text += membersOf(one, SPECIAL);
    text += data ? `,"data":${dataText(data, hasToken)}}` : "}";
  }
  return `{"type":"assign",${common}"assignments":[${text}]}`;
}

/** What few have. */
const SPECIAL = ["alternative", "budget", "capabilities", "traceparent", "tracestate"] as const;

function isSpecial({ alternative, budget, capabilities, traceparent }: GivenAssignment): boolean {
  return (
    alternative !== undefined ||
    budget !== undefined ||
    capabilities !== undefined ||
    traceparent !== undefined
  );
}

function dataText(data: GivenData, hasToken: boolean): string {
  let inputs = "";
  for (const input of data.inputs) {
    const { chunk, node, value, kind, token, from } = input;
    if (inputs !== "") inputs += ",";
    inputs += `{"chunk":"${chunk}","node":${quoted(node)}`;
    if (value !== undefined) inputs += `,"value":${value}`;
    if (kind !== undefined || token !== undefined || from !== undefined) inputs += membersOf(input, HANDLE);
    inputs += "}";
  }
  const token = hasToken ? "" : `"token":${JSON.stringify(data.token)},`;
  return `{${token}"inputs":[${inputs}]${membersOf(data, MANNER)}}`;
}

const HANDLE = ["kind", "bytes", "sha256", "token", "from"] as const;
const MANNER = ["io", "processor", "meta"] as const;

/** Most names need no escapes. */
function quoted(name: string): string {
  return /^[\w .:/-]*$/.test(name) ? `"${name}"` : JSON.stringify(name);
}

function membersOf<Key extends string>(
  of: { readonly [key in Key]?: unknown },
  keys: readonly Key[],
): string {
  let text = "";
  for (const key of keys) if (of[key] !== undefined) text += `,"${key}":${JSON.stringify(of[key])}`;
  return text;
}

/** As a worker reads it. */
export interface AssignMessage {
  /** What each of them has beside its own members, also in its `data`. */
  readonly common?: Partial<Omit<Assignment, "data">> & { readonly data?: Partial<AssignedData> };
  readonly assignments: readonly Assignment[];
}

/** Completes what was just parsed. */
export function assignmentsIn({ common, assignments }: AssignMessage): readonly Assignment[] {
  if (!common) return assignments;
  const { data = {}, ...terms } = common;
  for (const one of assignments) {
    complete(one, terms);
    if (one.data) complete(one.data, data);
  }
  return assignments;
}

function complete(one: Record<string, unknown>, terms: Readonly<Record<string, unknown>>): void {
  for (const key of Object.keys(terms)) one[key] ??= terms[key];
}
