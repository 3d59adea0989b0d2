#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import type { StoreError } from "../store/index.ts";
import { auditCommand } from "./audit.ts";
import { cancelCommand, rechargeCommand, retryCommand } from "./cancel.ts";
import { clusterCommand } from "./cluster.ts";
import { configCommand } from "./config.ts";
import { doctorCommand } from "./doctor.ts";
import { CliError } from "./errors.ts";
import { exportCommand } from "./export.ts";
import { workersCommand } from "./fleet.ts";
import { ganttCommand } from "./gantt.ts";
import { keysCommand } from "./keys.ts";
import { ledgerCommand } from "./ledger.ts";
import { planCommand } from "./plan.ts";
import { agentsCommand, limitsCommand, pauseCommand, resumeCommand } from "./queue.ts";
import { replayCommand } from "./replay.ts";
import { releaseCommand, resultCommand } from "./result.ts";
import { runCommand } from "./run.ts";
import { runsCommand } from "./runs.ts";
import { schedulesCommand } from "./schedules.ts";
import { readSecretFiles } from "./secret-files.ts";
import { serveCommand } from "./serve.ts";
import { simulateCommand } from "./simulate.ts";
import { submitCommand } from "./submit.ts";
import { taskCommand } from "./task.ts";
import { tasksCommand } from "./tasks.ts";
import { guardTerminal } from "./terminal-guard.ts";
import { neutralise } from "./terminal-text.ts";
import { topCommand } from "./top.ts";
import { traceCommand } from "./trace.ts";
import { verifyCommand } from "./verify.ts";
import { webhooksCommand } from "./webhooks.ts";
import { whyCommand } from "./why.ts";
import { workerCommand } from "./worker.ts";

const BUG = 70;

/** What a ledger that cannot be used ends with. */
const STORE_EXIT: Readonly<Record<StoreError["code"], number>> = {
  damaged: 1,
  unwritable: 1,
  unavailable: 1,
  foreign: 2,
  locked: 2,
  unreadable: 2,
  missing: 3,
  refused: 1,
};

/** What there is, as the help shows it. */
const GROUPS: Readonly<Record<string, readonly (() => Command)[]>> = {
  "Run graphs:": [runCommand, planCommand],
  "Serve and work:": [
    serveCommand,
    workerCommand,
    workersCommand,
    keysCommand,
    auditCommand,
    webhooksCommand,
    clusterCommand,
    configCommand,
  ],
  "Tasks of a server:": [
    submitCommand,
    tasksCommand,
    taskCommand,
    cancelCommand,
    retryCommand,
    rechargeCommand,
    runsCommand,
    resultCommand,
    releaseCommand,
    schedulesCommand,
  ],
  "Steer a server:": [pauseCommand, resumeCommand, limitsCommand, agentsCommand],
  "Ask and check:": [
    topCommand,
    doctorCommand,
    whyCommand,
    ganttCommand,
    traceCommand,
    replayCommand,
    verifyCommand,
    exportCommand,
    ledgerCommand,
    simulateCommand,
  ],
};

/** What those look for who leave out an option, or give one that there is not. */
const HINTS: Readonly<Record<string, string>> = {
  "orrery schedules create": 'say when with --cron, such as --cron "*/5 * * * *" for every five minutes',
};
/** Time, in ms, for a command that failed to end by itself. */
const END_WITHIN_MS = 3_000;
const LOOKING = /^error: (?:required|unknown) option /;

function program(): Command {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  const orrery = new Command("orrery")
    .description("A deterministic scheduler: runs graphs of tasks, and can show and replay every decision.")
    .version(version)
    .showHelpAfterError("(orrery --help shows what there is)")
    .configureHelp({ showGlobalOptions: true });
  for (const [group, makers] of Object.entries(GROUPS)) {
    for (const make of makers) orrery.addCommand(inherited(make()).helpGroup(group));
  }
  return orrery;
}

/** Errors of the arguments come here as exceptions, so that they end with our exit codes. */
function inherited(command: Command, parents = "orrery"): Command {
  const name = `${parents} ${command.name()}`;
  for (const child of command.commands) inherited(child, name);
  const writeError = (text: string, write: (text: string) => void): void => {
    const hint = LOOKING.test(text) ? HINTS[name] : undefined;
    const hinted = hint === undefined ? text : `${text.trimEnd()}: ${hint}\n`;
    write(hinted.split("\n").map(neutralise).join("\n"));
  };
  return command
    .exitOverride()
    .configureOutput({ outputError: writeError })
    .showHelpAfterError(`(${name} --help shows how it is used)`);
}

async function main(): Promise<number> {
  // A variable that is empty is how shells take one away for a command.
  if (process.env["ORRERY_URL"] === "") delete process.env["ORRERY_URL"];
  try {
    readSecretFiles(process.env);
    await program().exitOverride().parseAsync();
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof CliError) {
      if (error.message) process.stderr.write(`${prefixed(error.message)}\n`);
      return error.exitCode;
    }
    const { stack, message, name } = error as Error;
    if (name === "TlsError") {
      process.stderr.write(`${prefixed(message)}\n`);
      return 2;
    }
    const storeCode = name === "StoreError" ? STORE_EXIT[(error as StoreError).code] : undefined;
    if (storeCode !== undefined) {
      process.stderr.write(`${prefixed(message)}\n`);
      return storeCode;
    }
    process.stderr.write(
      `orrery: this is a bug: ${neutralise(message)}\n${process.env["ORRERY_DEBUG"] ? `${stack}\n` : "Set ORRERY_DEBUG=1 to see where.\n"}`,
    );
    return BUG;
  }
}

function prefixed(message: string): string {
  return message
    .split("\n")
    .map((line) => `orrery: ${neutralise(line)}`)
    .join("\n");
}

guardTerminal(process.stdout);
guardTerminal(process.stderr);
// A reader that closes early, like `head`, is no error; one that cannot take more is.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`orrery: cannot write to stdout: ${error.message}\n`);
  process.exit(1);
});
// Nobody has to listen to what is said on the way.
process.stderr.on("error", () => {});

// Otherwise Node would open a debugger, and any user of this machine could run code in this process.
process.on("SIGUSR1", () => {});

process.exitCode = await main();
// After an error nothing that is still open, such as a connection that does not close, may keep the process alive.
if (process.exitCode !== 0) setTimeout(() => process.exit(), END_WITHIN_MS).unref();
