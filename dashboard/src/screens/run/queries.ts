import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { RunGraphAnswer, RunNodesAnswer } from "../../../../src/protocol/api-schemas.ts";
import { useMoment } from "../../api/moment.ts";
import { get } from "../../api/request.ts";
import { runPath } from "../../api/run-queries.ts";
import { type RunShape, shapeFrom } from "./shape.ts";
import { type Standing, standingFrom, withChanges } from "./standing.ts";

/** What does not change about a run: asked for once, whichever moment is looked at. */
export function useRunShape(id: string): UseQueryResult<RunShape> {
  const at = useMoment();
  return useQuery({
    queryKey: ["run-graph", { id }],
    queryFn: async ({ signal }) =>
      shapeFrom(await get<RunGraphAnswer>(`${runPath(id)}/graph`, { query: { at }, signal })),
    structuralSharing: false,
  });
}

/** Where its nodes stand: at first of all, then of those that changed. */
export function useStanding(id: string): UseQueryResult<Standing> {
  const at = useMoment();
  return useQuery({
    queryKey: ["run-nodes", { id }, at],
    queryFn: async ({ client, queryKey, signal }) => {
      const before = client.getQueryData<Standing>(queryKey);
      if (before?.next === null) return before;
      const query = { at, cursor: before?.next };
      const answer = await get<RunNodesAnswer>(`${runPath(id)}/graph/nodes`, { query, signal });
      return before && answer.nodes ? withChanges(before, answer, answer.nodes) : standingFrom(answer);
    },
    placeholderData: (before) => before,
    structuralSharing: false,
  });
}
