// Runs a command of the CLI in this process, as its user would see it.

import type { Command } from "commander";
import { vi } from "vitest";
import { CliError } from "../src/cli/errors.ts";

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

export async function runCommand(command: Command, ...args: readonly string[]): Promise<CommandResult> {
  const texts = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((name) =>
    vi.spyOn(process[name], "write").mockImplementation((text) => {
      texts[name] += String(text);
      return true;
    }),
  );
  try {
    await command.exitOverride().parseAsync(args, { from: "user" });
    return { ...texts, exitCode: 0 };
  } catch (error) {
    if (error instanceof CliError) {
      return { ...texts, stderr: texts.stderr + error.message, exitCode: error.exitCode };
    }
    if (error instanceof Error && "code" in error && String(error.code).startsWith("commander.")) {
      return { ...texts, exitCode: 2 };
    }
    throw error;
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
