import { Command, Option } from "commander";
import { UsageError } from "./errors.ts";
import { withSettings } from "./settings-options.ts";

/** What is no setting. */
export interface ServeOptions {
  readonly demo: boolean;
  readonly shell: boolean;
  readonly json: boolean;
  readonly newSecret: boolean;
}

export function serveCommand(): Command {
  const command = new Command("serve")
    .summary("run the scheduler as a service")
    .description("Take tasks and graphs by HTTP, give them to workers, and lose nothing.")
    .option("--host <address>", "where to listen (default: 127.0.0.1)")
    .option("-p, --port <n>", "the port; the next free one if it is taken (default: 2026)")
    .option("--strict-port", "fail if the port is taken")
    .option(
      "--store <where>",
      "postgres://… or memory (default: DATABASE_URL, or a private PostgreSQL in --data)",
    )
    .option("--data <dir>", "where the private PostgreSQL keeps its data (default: .orrery/server)")
    .addOption(
      new Option("--order <name>", "what goes first within a class (default: hrrn)").choices([
        "hrrn",
        "classic",
        "graph",
      ]),
    )
    .option("--fair-share <n>", "tasks of one agent that run at once (default: 10)")
    .option(
      "--prefetch <n>",
      "tasks that a worker gets beyond those it runs; for many short ones (default: 0)",
    )
    .option("--lease <duration>", "a worker that is silent for this long is lost (default: 15s)")
    .option(
      "--advertise <url>",
      "where other servers on the same store find this one (default: its host and port)",
    )
    .option(
      "--tls-cert <file>",
      "the certificate for callers and other servers, in PEM format (default: none: plain HTTP)",
    )
    .option("--tls-key <file>", "its private key")
    .option("--tls-ca <file>", "certificates to trust beside those of the system, when connecting")
    .option("--tls-client-ca <file>", "callers must show a certificate that one of these has signed")
    .option(
      "--takeover <duration>",
      "take over when the server that leads is silent for this long (default: 3s)",
    )
    .option("--tasks <file>", "a module whose functions it runs for meta nodes, beside the scheduler")
    .option("--meta-zone <name...>", "the zones whose meta nodes it runs (default: default)")
    .option("--keep-ended <days>", "forget tasks this long after they ended (default: keep)")
    .option(
      "--data-allow <network...>",
      "fetch results from these networks, although they are loopback or link-local",
    )
    .option("--allow-http-webhooks", "let webhooks go to http:// too")
    .option(
      "--webhook-allow <network...>",
      "let webhooks go to these networks, which are not public, such as 10.0.0.0/8",
    )
    .option("--webhook-waits <durations>", "between tries, with commas (default: nine, from 5s to a day)")
    .option("--otel", "send traces as the variables OTEL_… say (or ORRERY_OTEL=1)")
    .option(
      "--new-secret",
      "replace the secret that the servers of the store share, once: by ORRERY_SECRET, or by a new one in --data",
      false,
    )
    .option("--demo", "also start a worker here for the example tasks, and submit an example run", false)
    .option(
      "--shell",
      "with --demo: its worker also runs shell commands of anyone who may submit tasks",
      false,
    )
    .option("--json", "print what is to know as JSON", false)
    .addOption(
      new Option(
        "--log-level <name>",
        "what goes to stderr, as JSON unless that is a terminal (default: ORRERY_LOG_LEVEL, or info)",
      ).choices(["debug", "info", "warn", "error", "silent"]),
    );
  return withSettings(command)
    .addHelpText("after", EXAMPLES)
    .action(async (options: ServeOptions) => {
      if (options.shell && !options.demo)
        throw new UsageError("--shell is for the worker of --demo; for another one: orrery worker --shell");
      const { configOf } = await import("./settings.ts");
      const { runServer } = await import("./server-process.ts");
      await runServer(options, configOf(command, "serve"));
    });
}

const EXAMPLES = `
ORRERY_API_KEY (32 characters or more: openssl rand -base64 32) is the first admin key. Without any key, one is made
and kept in DATA/dev-key, and the server listens on this machine only.

Examples:
  orrery serve                                          all in .orrery/server
  orrery serve --store postgres://user@host/orrery      on a database of yours
  ORRERY_API_KEY=… orrery serve --host 0.0.0.0          for other machines

Several servers on one PostgreSQL take over from each other; ask any of them (orrery cluster status).`;
