import type { WhatIfBody, WhatIfChange } from "../../../../src/protocol/api-schemas.ts";

export type Kind = WhatIfChange["kind"];
export type Durations = NonNullable<WhatIfBody["durations"]>;

/** What can be changed, in the words of whoever asks. */
export const KINDS: Readonly<Record<Kind, string>> = {
  "more-workers": "more workers like",
  "without-worker": "without the worker",
  slots: "slots of the worker",
  strategy: "place by",
  order: "order by",
  prefetch: "prefetch",
  priority: "priority of tasks",
  "agent-limit": "limit of the agent",
  limit: "limit on",
  speculation: "ways to try risky nodes",
};

/** A change of a kind, to begin with. */
export function blank(kind: Kind, worker: string): WhatIfChange {
  switch (kind) {
    case "more-workers":
      return { kind, like: worker, count: 1 };
    case "without-worker":
      return { kind, worker };
    case "slots":
      return { kind, worker, slots: 4 };
    case "strategy":
      return { kind, strategy: "affinity" };
    case "order":
      return { kind, order: "classic" };
    case "prefetch":
      return { kind, prefetch: 8 };
    case "priority":
      return { kind, priority: "high" };
    case "agent-limit":
      return { kind, agent: "", max: 10 };
    case "limit":
      return { kind, name: "", max: 10 };
    case "speculation":
      return { kind, ways: 2 };
  }
}

/** Changes stand in the page's address, so that they can be passed on. */
export function changesIn(search: string): WhatIfChange[] {
  const text = new URLSearchParams(search).get("changes");
  if (text === null) return [];
  try {
    const changes: unknown = JSON.parse(text);
    return Array.isArray(changes) ? changes.filter(isChange) : [];
  } catch {
    // Somebody's address: as good as none.
    return [];
  }
}

function isChange(change: unknown): change is WhatIfChange {
  const { kind } = (change ?? {}) as { readonly kind?: unknown };
  return typeof kind === "string" && Object.hasOwn(KINDS, kind);
}

export function withChanges(search: string, changes: readonly WhatIfChange[]): string {
  const params = new URLSearchParams(search);
  if (changes.length === 0) params.delete("changes");
  else params.set("changes", JSON.stringify(changes));
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}
