import { shown } from "../../protocol/index.ts";
import { isMapping, type Mapping, mappingOf, nameOf } from "../json-values.ts";
import type { Fields } from "./fields.ts";
import type { BeadsRecord } from "./records.ts";

/** What an issue says of others that matters for when it may start. */
export interface Links {
  readonly blockers: readonly string[];
  readonly parents: readonly string[];
  readonly waitsFor: readonly WaitsFor[];
}

/** It starts when the children of another are closed, or at least one of them. */
export interface WaitsFor {
  readonly target: string;
  readonly isForAny: boolean;
}

/** What is worth knowing of issues, and keeps none from starting. */
const NOT_WAITED_FOR = new Set([
  "related",
  "relates-to",
  "discovered-from",
  "replies-to",
  "duplicates",
  "supersedes",
  "authored-by",
  "assigned-to",
  "approved-by",
  "attests",
  "tracks",
  "until",
  "caused-by",
  "validates",
  "delegated-from",
]);

const NONE: Links = { blockers: [], parents: [], waitsFor: [] };

export function readLinks({ id, map }: BeadsRecord, fields: Fields): Links {
  const list = map["dependencies"] ?? [];
  if (!Array.isArray(list)) {
    fields.find("bad-dependencies", `dependencies must be a list, not ${shown(list)}; it is ignored`);
    return NONE;
  }
  if (list.length === 0) return NONE;
  const blockers = new Set<string>();
  const parents = new Set<string>();
  const waitsFor: WaitsFor[] = [];
  for (const [index, value] of list.entries()) {
    const target = targetOf(id, value, index, fields);
    if (target === undefined) continue;
    const type = typeOf(mappingOf(value), index, fields);
    if (type === "blocks" || type === "conditional-blocks") blockers.add(target);
    else if (type === "parent-child") parents.add(target);
    else if (type === "waits-for") waitsFor.push({ target, isForAny: isForAny(mappingOf(value)) });
    else if (!NOT_WAITED_FOR.has(type)) {
      const message = `dependencies[${index}].type ${shown(type)} is not known; the dependency is ignored`;
      fields.find("unknown-dependency-type", message);
    }
  }
  return { blockers: [...blockers], parents: [...parents], waitsFor };
}

function targetOf(id: string, value: unknown, index: number, fields: Fields): string | undefined {
  const target = isMapping(value) ? nameOf(value["depends_on_id"]) : undefined;
  if (target === undefined)
    fields.find("bad-dependency", `dependencies[${index}] must be a map with depends_on_id; it is ignored`);
  else if (target !== id) return target;
  else fields.find("self-dependency", `dependencies[${index}] is on the issue itself; it is ignored`);
  return undefined;
}

function typeOf(dependency: Mapping, index: number, fields: Fields): string {
  const type = dependency["type"];
  if (typeof type === "string" && type !== "") return type;
  fields.find("missing-dependency-type", `dependencies[${index}].type is missing; it counts as blocks`);
  return "blocks";
}

/** Kept as a text in a text. */
function isForAny(dependency: Mapping): boolean {
  const metadata = dependency["metadata"];
  if (typeof metadata !== "string") return mappingOf(metadata)["gate"] === "any-children";
  try {
    return mappingOf(JSON.parse(metadata))["gate"] === "any-children";
  } catch {
    return false;
  }
}
