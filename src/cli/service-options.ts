import { type Command, Option } from "commander";

/** What every command about a server takes. */
export interface ServiceOptions {
  readonly server: string;
  readonly key?: string;
  readonly zone?: string;
  readonly agent?: string;
  readonly json: boolean;
}

/** For what belongs to a zone and an agent. */
export function withService(command: Command): Command {
  return withServer(command)
    .option("--zone <name>", "the zone (default: that of the key)")
    .option("--agent <name>", "act for this agent; the key must allow it");
}

export function withServer(command: Command): Command {
  return command
    .addOption(new Option("--server <url>", "the server").env("ORRERY_URL").default("http://127.0.0.1:2026"))
    .addOption(keyOption())
    .option("--json", "print the answer as JSON", false);
}

export function keyOption(): Option {
  return new Option("--key <key>", "the API key; better in the environment, where no one sees it").env(
    "ORRERY_API_KEY",
  );
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text looks like the id of a task rather than a file. */
export function isTaskId(text: string): boolean {
  return UUID.test(text);
}
