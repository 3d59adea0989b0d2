import type { ClusterAnswer } from "../client/index.ts";
import { type Column, tableLines } from "./layout.ts";
import { printLines, stdoutPalette } from "./output.ts";
import { atService } from "./service.ts";
import type { ServiceOptions } from "./service-options.ts";
import { printSafeJson, shown } from "./service-text.ts";

const COLUMNS: readonly Column[] = [
  { title: "NAME" },
  { title: "ROLE" },
  { title: "EVENT", align: "right" },
  { title: "LAG", align: "right" },
  { title: "SEEN", align: "right" },
  { title: "URL" },
];

export async function showCluster(options: ServiceOptions): Promise<void> {
  const cluster = await atService(options, (client) => client.cluster());
  if (options.json) await printSafeJson(cluster);
  else
    await printLines([headline(cluster), ...tableLines(COLUMNS, cluster.members.map(row), stdoutPalette())]);
}

export async function stepDown(options: ServiceOptions): Promise<void> {
  const answer = await atService(options, (client) => client.stepDown());
  const line = `${shown(answer.name)} steps down; its epoch was ${answer.epoch}`;
  await (options.json ? printSafeJson(answer) : printLines([line]));
}

function headline({ leader, epoch, seq }: ClusterAnswer): string {
  const who = leader === null ? "no server leads" : `${shown(leader.name)} leads`;
  return `${who}; epoch ${epoch}, event ${seq}`;
}

function row({ name, role, seq, lag, seen_seconds_ago, url }: ClusterAnswer["members"][number]): string[] {
  const seen = seen_seconds_ago < 1 ? "now" : `${Math.round(seen_seconds_ago)} s ago`;
  return [shown(name), shown(role), String(seq), String(lag), seen, shown(url)];
}
