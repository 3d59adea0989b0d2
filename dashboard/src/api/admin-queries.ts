import {
  type InfiniteData,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
} from "@tanstack/react-query";
import type {
  AuditAnswer,
  ClusterAnswer,
  KeyBody,
  KeysAnswer,
  NewKeyAnswer,
  StepDownAnswer,
} from "../../../src/protocol/api-schemas.ts";
import { useMay } from "./queries.ts";
import { get, post } from "./request.ts";

/** Another server may have made, ended or noted something. */
const QUIET_MS = 2000;
const CLUSTER_MS = 1000;
const PAGE = 50;

/** Keys are not in the ledger, so there is no past to them. */
export function useKeys(): UseQueryResult<KeysAnswer> {
  const enabled = useMay("admin");
  return useQuery({
    queryKey: ["keys"],
    queryFn: ({ signal }) => get<KeysAnswer>("/keys", { signal }),
    refetchInterval: QUIET_MS,
    enabled,
  });
}

/** Newest first, as far as it was asked for. */
export function useAudit(): UseInfiniteQueryResult<InfiniteData<AuditAnswer>> {
  const enabled = useMay("admin");
  return useInfiniteQuery({
    queryKey: ["audit"],
    queryFn: ({ pageParam: cursor, signal }) =>
      get<AuditAnswer>("/audit", { query: { limit: PAGE, cursor }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: QUIET_MS,
    enabled,
  });
}

export function makeKey(body: KeyBody): Promise<NewKeyAnswer> {
  return post<NewKeyAnswer>("/keys", { body });
}

export function revokeKey(id: string): Promise<unknown> {
  return post(`/keys/${encodeURIComponent(id)}/revoke`);
}

/** Who leads is no matter of the ledger's past either. */
export function useCluster(): UseQueryResult<ClusterAnswer> {
  const enabled = useMay("operator");
  return useQuery({
    queryKey: ["cluster"],
    queryFn: ({ signal }) => get<ClusterAnswer>("/cluster", { signal }),
    refetchInterval: CLUSTER_MS,
    enabled,
  });
}

export function stepDown(): Promise<StepDownAnswer> {
  return post<StepDownAnswer>("/cluster/step-down");
}
