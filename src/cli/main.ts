#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { demoCommand } from "./demo.ts";
import { CliError } from "./errors.ts";
import { exportCommand } from "./export.ts";
import { ganttCommand } from "./gantt.ts";
import { replayCommand } from "./replay.ts";
import { runCommand } from "./run.ts";
import { simulateCommand } from "./simulate.ts";
import { traceCommand } from "./trace.ts";
import { verifyCommand } from "./verify.ts";
import { whyCommand } from "./why.ts";

const BUG = 70;

function program(): Command {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  const orrery = new Command("orrery")
    .description("A deterministic scheduler: runs graphs of tasks, and can show and replay every decision.")
    .version(version)
    .showHelpAfterError("(orrery --help shows what there is)")
    .configureHelp({ showGlobalOptions: true });
  for (const make of [
    runCommand,
    whyCommand,
    ganttCommand,
    traceCommand,
    replayCommand,
    verifyCommand,
    exportCommand,
    simulateCommand,
    demoCommand,
  ]) {
    orrery.addCommand(inherited(make()));
  }
  return orrery;
}

/** Errors of the arguments come here as exceptions, so that they end with our exit codes. */
function inherited(command: Command): Command {
  return command.exitOverride().showHelpAfterError(`(orrery ${command.name()} --help shows how it is used)`);
}

async function main(): Promise<number> {
  try {
    await program().exitOverride().parseAsync();
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof CliError) {
      if (error.message) process.stderr.write(`${prefixed(error.message)}\n`);
      return error.exitCode;
    }
    const { stack, message } = error as Error;
    process.stderr.write(
      `orrery: this is a bug: ${message}\n${process.env["ORRERY_DEBUG"] ? `${stack}\n` : "Set ORRERY_DEBUG=1 to see where.\n"}`,
    );
    return BUG;
  }
}

function prefixed(message: string): string {
  return message
    .split("\n")
    .map((line) => `orrery: ${line}`)
    .join("\n");
}

// A reader that closes early, like `head`, is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

process.exitCode = await main();
