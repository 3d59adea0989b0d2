import { Command, Option } from "commander";
import { withSettings } from "./settings-options.ts";

/** What is no setting. */
export interface WorkerCommandOptions {
  readonly id?: string;
  readonly quiet: boolean;
  readonly json: boolean;
}

export function workerCommand(): Command {
  const command = new Command("worker")
    .summary("run tasks for a server")
    .description(
      "Connect to a server and run the tasks that it assigns: those of a tasks file, and the built-in types noop, sleep and echo.",
    )
    .option("--server <url>", "the server (default: ORRERY_URL, or http://127.0.0.1:2026)")
    .option("--key <key>", "the API key; better in ORRERY_API_KEY, where no one sees it")
    .option("--tasks <file>", "a module (.js, .mjs, .ts, .mts) that exports handlers")
    .option("--id <id>", "its name (default: made of the host, the process and a few random characters)")
    .option("--zone <name>", "its home zone (default: that of the key)")
    .option("--executor <name...>", "the executors that it serves (default: default, local)")
    .option("--capability <name...>", "what it can do beyond that")
    .option("--slots <n>", "how many tasks at once (default: the number of cores)")
    .option("--cpu <cores>", "such as 2, 0.5 or 500m (default: all cores)")
    .option("--memory <size>", "such as 512MiB (default: all of it)")
    .addOption(
      new Option("--transport <name>", "how it speaks to the server (default: ws)").choices(["ws", "http"]),
    )
    .option("--threads <n>", "for functions marked with onThread (default: as many as slots, or cores)")
    .option("--data-host <host>", "where others fetch results from it (default: 127.0.0.1)")
    .option("--data-port <port>", "and at which port; 0: any that is free (default: 0)")
    .option("--data-url <url>", "how they reach that (default: made of both)")
    .option(
      "--data-allow <network...>",
      "fetch results from these networks, although they are loopback or link-local",
    )
    .option("--data-memory <size>", "what results may take (default: half of the memory, at most 4GiB)")
    .option("--spill-dir <directory>", "where results go that do not fit (default: among temporary files)")
    .option(
      "--tls-cert <file>",
      "the certificate for workers that fetch results, in PEM format (default: none: plain HTTP)",
    )
    .option("--tls-key <file>", "its private key")
    .option("--tls-ca <file>", "certificates to trust beside those of the system, when connecting")
    .option("--shell", "also run tasks of type command: shell commands of whoever may submit tasks")
    .option("--pass-env <name...>", "variables that commands get beside PATH, HOME and other harmless ones")
    .option("--otel", "send traces as the variables OTEL_… say (or ORRERY_OTEL=1)")
    .option("-q, --quiet", "say only what went wrong", false)
    .option("--json", "print what happens as JSON lines", false);
  return withSettings(command)
    .addHelpText("after", EXAMPLES)
    .action(async (options: WorkerCommandOptions) => {
      const { settingsOf } = await import("./settings.ts");
      const { runWorker } = await import("./worker-process.ts");
      await runWorker(options, settingsOf(command, "worker"));
    });
}

const EXAMPLES = `
SIGTERM or Ctrl-C: finish what runs, then leave; what waits for a recharge is given back after 10 s, and a server that is
away is waited for no longer than 30 s. A second one: leave at once, and let others run it again.

Examples:
  orrery worker --tasks tasks.ts                       the handlers of a file
  orrery worker --shell --executor build --slots 8     shell commands, for the executor "build"
  ORRERY_URL=https://orrery.example orrery worker --tasks tasks.js --json`;
