import type { WorkersAnswer } from "../client/index.ts";
import { formatBytes, formatCores, workerCommand } from "../words/index.ts";
import type { WorkersOptions } from "./fleet.ts";
import { type Column, tableLines } from "./layout.ts";
import { printLines, stdoutPalette } from "./output.ts";
import { atService } from "./service.ts";
import { printSafeJson, shown } from "./service-text.ts";

const COLUMNS: readonly Column[] = [
  { title: "ID" },
  { title: "STATUS" },
  { title: "HELD", align: "right" },
  { title: "SLOTS", align: "right" },
  { title: "I/O SLOTS", align: "right" },
  { title: "CORES", align: "right" },
  { title: "MEMORY", align: "right" },
  { title: "EXECUTORS" },
  { title: "CAPABILITIES" },
];

export async function listWorkers(options: WorkersOptions): Promise<void> {
  const workers = await atService(options, (client) => client.workers());
  if (options.json) await printSafeJson({ workers });
  else if (workers.length === 0) process.stderr.write(`no workers; start one with: ${workerCommand()}\n`);
  else await printLines(tableLines(COLUMNS, workers.map(row), stdoutPalette()));
}

export async function drainWorker(id: string, options: WorkersOptions): Promise<void> {
  const answer = await atService(options, (client) => client.drainWorker(id));
  await (options.json ? printSafeJson(answer) : printLines([`${shown(answer.worker_id)} draining`]));
}

function row(worker: WorkersAnswer["workers"][number]): string[] {
  const { free_cpu_millicores: freeCpu, free_memory_bytes: freeMemory } = worker;
  return [
    shown(worker.id),
    shown(worker.status),
    String(worker.held),
    String(worker.slots),
    String(worker.io_slots),
    `${formatCores(freeCpu)} of ${formatCores(worker.cpu_millicores)} free`,
    `${formatBytes(freeMemory)} of ${formatBytes(worker.memory_bytes)} free`,
    shown(worker.executors.join(", ")),
    shown(worker.capabilities.join(", ")),
  ];
}
