import type { Palette } from "../../parts/picture/palette.ts";
import type { NodeStatus } from "./standing.ts";

/** What a node is filled with. */
export function fillOf(status: NodeStatus, palette: Palette): string {
  switch (status) {
    case "running":
      return palette["running-bar"];
    case "completed":
      return palette["completed-bar"];
    case "failed":
      return palette["failed-bar"];
    case "held":
    case "delayed":
      return palette["dispatch-bar"];
    case "cancelled":
    case "skipped":
      return palette.cancelled;
    case "ready":
      return palette["line-strong"];
    case "waiting":
    case "unknown":
      return palette["waiting-bar"];
  }
}
