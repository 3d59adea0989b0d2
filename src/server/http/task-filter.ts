import { TASK_STATUSES } from "../../protocol/api-schemas.ts";
import { isFilterProblem, readFilter } from "../../protocol/task-filter.ts";
import { CLASS_NAMES } from "../../queue/index.ts";
import type { ListFilter } from "../api.ts";
import { invalid } from "./problems.ts";

/** What a text in the language of filters asks for. */
export function filterOf(text: string, where: "query" | "body"): ListFilter {
  const read = readFilter(text);
  if (isFilterProblem(read))
    throw invalid([{ in: where, pointer: "/filter", detail: `${read.detail} (at ${read.at})` }]);
  const { status, agent, class: className, type, executor, run, waitMs } = read;
  const statuses = status && TASK_STATUSES.filter((known) => status.includes(known));
  const priorityClass = (CLASS_NAMES as readonly string[]).indexOf(className ?? "");
  return {
    ...(statuses && { statuses }),
    ...(agent !== undefined && { agent }),
    ...(priorityClass !== -1 && { priorityClass }),
    ...(type !== undefined && { type }),
    ...(executor !== undefined && { executor }),
    ...(run !== undefined && { runId: run }),
    ...(waitMs && { waitedMs: waitMs }),
  };
}
