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
  const orrery = main.endsWith(".js") ? `node ${JSON.stringify(relative(process.cwd(), main))}` : "orrery";
  return `
Every decision of that run is in ${ledger}. Try:

  ${orrery} why ${ledger} report           why it ran where it did
  ${orrery} gantt ${ledger}                what ran when
  ${orrery} verify ${ledger} --redecide    decide it all again
  ${orrery} run ${JSON.stringify(file)}    run it once more
`;
}
