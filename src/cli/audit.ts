import { Command } from "commander";
import { wholeNumber } from "./option-values.ts";
import { type ServiceOptions, withServer } from "./service-options.ts";

export interface AuditOptions extends ServiceOptions {
  readonly action?: string;
  readonly byKey?: string;
  readonly byAgent?: string;
  readonly target?: string;
  readonly limit: number;
  readonly verify: boolean;
}

export function auditCommand(): Command {
  const command = new Command("audit")
    .summary("show who changed what, newest first")
    .description(
      "Show what was changed by whom, with what it was before. The key needs the scope admin; with operator it shows what concerns all zones, too.",
    )
    .option(
      "--action <name>",
      "only this action, such as limit.set, or those that begin with it, such as key.",
    )
    .option("--by-key <id>", "only what was done with this key")
    .option("--by-agent <name>", "only what was done for this agent")
    .option("--target <name>", "only what was done to this")
    .option("--limit <n>", "how many entries", wholeNumber(1, 100_000), 50)
    .option(
      "--verify",
      "compare all entries with the ledger's chain; the key needs the scope operator",
      false,
    );
  return withServer(command).action(async (options: AuditOptions) => {
    const { showAudit, verifyAudit } = await import("./audit-view.ts");
    await (options.verify ? verifyAudit(options) : showAudit(options));
  });
}
