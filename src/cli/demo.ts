import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { CheckFailed } from "./errors.ts";

export function demoCommand(): Command {
  return new Command("demo").summary("run a small example and show how to go on").action(async () => {
    const { runFile } = await import("./run-file.ts");
    const file = relative(
      process.cwd(),
      fileURLToPath(new URL("../../examples/hello.yaml", import.meta.url)),
    );
    const options = {
      workers: 2,
      strategy: "least-loaded",
      resume: false,
      failFast: false,
      quiet: false,
      json: false,
    } as const;
    const { exitCode, ledger } = await runFile(file, options);
    if (exitCode !== 0) throw new CheckFailed();
    process.stderr.write(howToGoOn(file, ledger));
  });
}

function howToGoOn(file: string, ledger: string): string {
  const main = process.argv[1] ?? "";
  const orrery = main.endsWith(".js") ? `node ${quoted(relative(process.cwd(), main))}` : "orrery";
  const hints = [
    [`${orrery} why ${ledger} report`, "why it ran where it did"],
    [`${orrery} gantt ${ledger}`, "what ran when"],
    [`${orrery} verify ${ledger} --redecide`, "decide it all again"],
    [`${orrery} run ${quoted(file)}`, "run it once more"],
  ] as const;
  const width = Math.max(...hints.map(([command]) => command.length));
  const lines = hints.map(([command, what]) => `  ${command.padEnd(width)}   ${what}\n`);
  return `\nEvery decision of that run is in ${ledger}. Try:\n\n${lines.join("")}`;
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path}'`;
}
