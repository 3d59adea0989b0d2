import { Command, Option } from "commander";
import { seconds, serverUrl, wholeNumber } from "./option-values.ts";

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  readonly strictPort: boolean;
  readonly store?: string;
  readonly data: string;
  readonly order?: "hrrn" | "classic";
  readonly fairShare?: number;
  readonly prefetch?: number;
  readonly lease: number;
  readonly advertise?: string;
  readonly takeover: number;
  readonly keepEnded?: number;
  readonly config?: string;
  readonly allowHttpWebhooks: boolean;
  readonly webhookAllow?: readonly string[];
  readonly webhookWaits?: string;
  readonly otel: boolean;
  readonly demo: boolean;
  readonly json: boolean;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
}

export function serveCommand(): Command {
  return new Command("serve")
    .summary("run the scheduler as a service")
    .description("Take tasks and graphs by HTTP, give them to workers, and lose nothing.")
    .option("--host <address>", "where to listen", "127.0.0.1")
    .option("-p, --port <n>", "the port; the next free one if it is taken", wholeNumber(0, 65_535), 2026)
    .option("--strict-port", "fail if the port is taken", false)
    .addOption(
      new Option("--store <where>", "postgres://… or memory (default: a private PostgreSQL in --data)").env(
        "DATABASE_URL",
      ),
    )
    .option("--data <dir>", "where the private PostgreSQL keeps its data", ".orrery/server")
    .addOption(
      new Option("--order <name>", "what goes first within a class (default: hrrn)").choices([
        "hrrn",
        "classic",
      ]),
    )
    .option(
      "--fair-share <n>",
      "tasks of one agent that run at once (default: 10)",
      wholeNumber(1, 1_000_000),
    )
    .option(
      "--prefetch <n>",
      "tasks that a worker gets beyond those it runs; for many short ones (default: 0)",
      wholeNumber(0, 10_000),
    )
    .option("--lease <seconds>", "a worker that is silent for this long is lost", wholeNumber(1, 3600), 15)
    .option(
      "--advertise <url>",
      "where other servers on the same store find this one (default: its host and port)",
      serverUrl,
    )
    .option(
      "--takeover <seconds>",
      "take over when the server that leads is silent for this long",
      seconds(0.1, 3600),
      3,
    )
    .option(
      "--keep-ended <days>",
      "forget tasks this long after they ended (default: keep)",
      wholeNumber(1, 36_500),
    )
    .option("--config <file>", "further settings of the scheduler (YAML or JSON), such as credits: true")
    .option("--allow-http-webhooks", "let webhooks go to http:// too", false)
    .option(
      "--webhook-allow <network...>",
      "let webhooks go to these networks, which are not public, such as 10.0.0.0/8",
    )
    .option("--webhook-waits <seconds>", "between tries, with commas (default: nine, from 5 s to a day)")
    .option("--otel", "send traces as the variables OTEL_… say (or ORRERY_OTEL=1)", false)
    .option("--demo", "also start a worker here and submit an example run", false)
    .option("--json", "print what is to know as JSON", false)
    .addOption(
      new Option("--log-level <name>", "what goes to stderr, as JSON unless that is a terminal")
        .env("ORRERY_LOG_LEVEL")
        .choices(["debug", "info", "warn", "error", "silent"])
        .default("info"),
    )
    .addHelpText("after", EXAMPLES)
    .action(async (options: ServeOptions) => {
      const { runServer } = await import("./server-process.ts");
      await runServer(options);
    });
}

const EXAMPLES = `
ORRERY_API_KEY (16 characters or more) is the first admin key. Without any key, one is made and shown, and the
server listens on this machine only.

Examples:
  orrery serve                                          all in .orrery/server
  orrery serve --store postgres://user@host/orrery      on a database of yours
  ORRERY_API_KEY=… orrery serve --host 0.0.0.0          for other machines

Several servers on one PostgreSQL take over from each other; ask any of them (orrery cluster status).`;
