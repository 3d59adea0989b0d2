import { Command, Option } from "commander";
import { wholeNumber } from "./option-values.ts";
import { type ServiceOptions, withServer } from "./service-options.ts";

export type WebhookEvent = "task.completed" | "task.failed" | "task.cancelled" | "run.ended";

export interface WebhookOptions extends ServiceOptions {
  readonly description?: string;
  readonly event?: readonly WebhookEvent[];
  readonly forAgent?: readonly string[];
  readonly type?: readonly string[];
  readonly executor?: readonly string[];
  readonly includeResult?: boolean;
}

export interface UpdateWebhookOptions extends WebhookOptions {
  readonly url?: string;
  readonly enable?: boolean;
  readonly disable?: boolean;
}

export interface RotateSecretOptions extends ServiceOptions {
  readonly overlap?: number;
}

export interface DeliveriesOptions extends ServiceOptions {
  readonly limit: number;
}

/** As in the API; named here once more, so that showing the help loads nothing of it. */
const EVENTS: readonly WebhookEvent[] = ["task.completed", "task.failed", "task.cancelled", "run.ended"];

export function webhooksCommand(): Command {
  return new Command("webhooks")
    .summary("have a server tell a URL what ended")
    .description(
      "What ended in a zone, sent to a URL: signed as Standard Webhooks has it, and again until it is taken. " +
        "Needs a key with the scope admin.",
    )
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(updateCommand())
    .addCommand(removeCommand())
    .addCommand(rotateCommand())
    .addCommand(testCommand())
    .addCommand(deliveriesCommand())
    .addCommand(redeliverCommand());
}

function withZone(command: Command): Command {
  return withServer(command).option("--zone <name>", "the zone (default: that of the key)");
}

function withFilter(command: Command): Command {
  return command
    .option("--description <text>", "what it is for")
    .addOption(new Option("--event <name...>", "what to send (default: all)").choices(EVENTS))
    .option("--for-agent <name...>", "only what these agents submitted")
    .option("--type <name...>", "only tasks of these types")
    .option("--executor <name...>", "only tasks of these executors")
    .option("--include-result", "send results up to 64 KiB along");
}

function createCommand(): Command {
  const command = new Command("create")
    .summary("have events sent to a URL, and print the secret that signs them")
    .argument("<url>", "where to");
  return withZone(withFilter(command)).action(async (url: string, options: WebhookOptions) => {
    const { createWebhook } = await import("./webhook-commands.ts");
    await createWebhook(url, options);
  });
}

function listCommand(): Command {
  return withZone(new Command("list").summary("list the zone's webhooks")).action(
    async (options: ServiceOptions) => {
      const { listWebhooks } = await import("./webhook-commands.ts");
      await listWebhooks(options);
    },
  );
}

function showCommand(): Command {
  const command = new Command("show").summary("show a webhook").argument("<id>", "the id of a webhook");
  return withZone(command).action(async (id: string, options: ServiceOptions) => {
    const { showWebhook } = await import("./webhook-commands.ts");
    await showWebhook(id, options);
  });
}

function updateCommand(): Command {
  const command = new Command("update")
    .summary("change, disable or enable a webhook")
    .argument("<id>", "the id of a webhook")
    .option("--url <url>", "where to");
  // The other option has to be there first, or this one has a default.
  withFilter(command)
    .option("--no-include-result", "send of results the hash and size alone")
    .addOption(new Option("--disable", "send nothing"))
    .addOption(new Option("--enable", "send again what ends from now on").conflicts("disable"));
  return withZone(command).action(async (id: string, options: UpdateWebhookOptions) => {
    const { updateWebhook } = await import("./webhook-commands.ts");
    await updateWebhook(id, options);
  });
}

function removeCommand(): Command {
  const command = new Command("remove")
    .alias("delete")
    .summary("remove a webhook with its deliveries")
    .argument("<id>", "the id of a webhook");
  return withZone(command).action(async (id: string, options: ServiceOptions) => {
    const { removeWebhook } = await import("./webhook-commands.ts");
    await removeWebhook(id, options);
  });
}

function rotateCommand(): Command {
  const command = new Command("rotate")
    .summary("give a webhook a new secret, and print it")
    .argument("<id>", "the id of a webhook")
    .option(
      "--overlap <seconds>",
      "how long the old secret signs too (default: a day)",
      wholeNumber(0, 86_400 * 365),
    );
  return withZone(command).action(async (id: string, options: RotateSecretOptions) => {
    const { rotateSecret } = await import("./webhook-commands.ts");
    await rotateSecret(id, options);
  });
}

function testCommand(): Command {
  const command = new Command("test")
    .summary("send a test event, and say how it was answered")
    .argument("<id>", "the id of a webhook");
  return withZone(command).action(async (id: string, options: ServiceOptions) => {
    const { testWebhook } = await import("./webhook-commands.ts");
    await testWebhook(id, options);
  });
}

function deliveriesCommand(): Command {
  const command = new Command("deliveries")
    .summary("list what was sent to a webhook, newest first")
    .argument("<id>", "the id of a webhook")
    .option("--limit <n>", "how many", wholeNumber(1, 1000), 20);
  return withZone(command).action(async (id: string, options: DeliveriesOptions) => {
    const { listDeliveries } = await import("./webhook-commands.ts");
    await listDeliveries(id, options);
  });
}

function redeliverCommand(): Command {
  const command = new Command("redeliver")
    .summary("send a delivery once more")
    .argument("<id>", "the id of a webhook")
    .argument("<delivery>", "the id of a delivery");
  return withZone(command).action(async (id: string, delivery: string, options: ServiceOptions) => {
    const { redeliver } = await import("./webhook-commands.ts");
    await redeliver(id, delivery, options);
  });
}
