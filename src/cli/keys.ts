import { Command, Option } from "commander";
import { wholeNumber } from "./option-values.ts";
import { type ServiceOptions, withServer } from "./service-options.ts";

export type Scope = "submit" | "read" | "work" | "admin" | "operator";

export interface CreateKeyOptions extends Omit<ServiceOptions, "zone"> {
  readonly scope: readonly Scope[];
  readonly zone?: readonly string[];
  readonly allZones: boolean;
  readonly forAgent?: readonly string[];
  readonly allAgents: boolean;
  readonly expires?: string;
}

export interface RotateKeyOptions extends ServiceOptions {
  readonly overlap?: number;
}

export interface RevokeKeyOptions extends ServiceOptions {
  readonly handOverTo?: string;
}

/** As in the API; named here once more, so that showing the help loads nothing of it. */
const SCOPES: readonly Scope[] = ["submit", "read", "work", "admin", "operator"];

export function keysCommand(): Command {
  return new Command("keys")
    .summary("make, list, rotate and revoke a server's API keys")
    .description(
      "A server's API keys. The key that asks needs the scope admin, and gives no right that it lacks.",
    )
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(rotateCommand())
    .addCommand(revokeCommand());
}

function createCommand(): Command {
  const command = new Command("create")
    .summary("make a key, and print its secret this once")
    .argument("<name>", "what it is for")
    .addOption(new Option("--scope <name...>", "what it may do").choices(SCOPES).default(["submit", "read"]))
    .option("--zone <name...>", "the zones that it is for; this or --all-zones is needed")
    .option("--all-zones", "let it into every zone", false)
    .option("--for-agent <name...>", "the agents that it acts for; this or --all-agents is needed")
    .option("--all-agents", "let it act for every agent", false)
    .option("--expires <when>", "a time with a zone, or a duration from now such as 30d (default: never)");
  return withServer(command).action(async (name: string, options: CreateKeyOptions) => {
    const { createKey } = await import("./key-commands.ts");
    await createKey(name, options);
  });
}

function listCommand(): Command {
  return withServer(new Command("list").summary("list the keys that this one may manage")).action(
    async (options: ServiceOptions) => {
      const { listKeys } = await import("./key-commands.ts");
      await listKeys(options);
    },
  );
}

function rotateCommand(): Command {
  const command = new Command("rotate")
    .summary("replace a key by one like it, and print the new secret")
    .argument("<id>", "the id of a key")
    .option(
      "--overlap <seconds>",
      "how long the old secret stays valid (default: an hour)",
      wholeNumber(0, 86_400 * 365),
    );
  return withServer(command).action(async (id: string, options: RotateKeyOptions) => {
    const { rotateKey } = await import("./key-commands.ts");
    await rotateKey(id, options);
  });
}

function revokeCommand(): Command {
  const command = new Command("revoke")
    .summary("end a key at once, with everything that it made")
    .description(
      "End a key at once. Its schedules fire no more, its webhooks send no more, and the keys that it made end too, " +
        "unless they are handed over.",
    )
    .argument("<id>", "the id of a key")
    .option(
      "--hand-over-to <key>",
      "the id or name of the key that everything goes on under that this one made",
    );
  return withServer(command).action(async (id: string, options: RevokeKeyOptions) => {
    const { revokeKey } = await import("./key-commands.ts");
    await revokeKey(id, options);
  });
}
