import type { RunAnswer } from "../../../../src/protocol/api-schemas.ts";
import { quoted } from "../../parts/shell-word.ts";

/** What asks for the run: for a shell that knows the key as ORRERY_API_KEY. */
export function curlOf({ id, zone }: RunAnswer): string {
  return [
    `curl -H "Authorization: Bearer $ORRERY_API_KEY" -H ${quoted(`X-Zone-ID: ${zone}`)}`,
    `${location.origin}/api/v2/scheduler/runs/${encodeURIComponent(id)}`,
  ].join(" ");
}

export function cliOf({ id }: RunAnswer): string {
  return `orrery runs ${quoted(id)} --plan --server ${location.origin}`;
}
