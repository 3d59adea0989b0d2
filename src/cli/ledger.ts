import { Command } from "commander";
import { keyOption } from "./service-options.ts";

export interface LedgerOptions {
  readonly server: string;
  readonly key?: string;
}

export function ledgerCommand(): Command {
  return new Command("ledger")
    .summary("fetch the ledger of a server")
    .description("Write a server's ledger to FILE, for verify, replay, export and the like.")
    .argument("<file>", "where to write it")
    .requiredOption("--server <url>", "the server", process.env["ORRERY_URL"] ?? "http://127.0.0.1:2026")
    .addOption(keyOption())
    .addHelpText("after", EXAMPLES)
    .action(async (file: string, options: LedgerOptions) => {
      const { fetchLedger } = await import("./ledger-fetch.ts");
      await fetchLedger(file, options);
    });
}

const EXAMPLES = `
The key needs the operator scope: a ledger spans all zones.

Example:
  orrery ledger server.jsonl && orrery verify server.jsonl --redecide`;
