import { Command, Option } from "commander";
import { wholeNumber } from "./option-values.ts";
import { type ServiceOptions, withService } from "./service-options.ts";

/** What a task is, whenever it is submitted. */
export interface TaskFlags {
  readonly executor?: string;
  readonly payload?: string;
  readonly priority?: "critical" | "high" | "normal" | "low" | "best_effort";
  readonly estimate?: string;
  readonly boost?: string;
  readonly limit?: readonly string[];
  readonly capability?: readonly string[];
  readonly cpu?: string;
  readonly memory?: string;
  readonly maxAttempts?: number;
  readonly timeout?: string;
}

export interface SubmitOptions extends ServiceOptions, TaskFlags {
  readonly deadline?: string;
  readonly runAt?: string;
  readonly idempotencyKey?: string;
  readonly wait?: string | true;
  readonly batch?: string;
}

/** As in the API; named here once more, so that showing the help loads nothing of it. */
const PRIORITIES = ["critical", "high", "normal", "low", "best_effort"];

export function submitCommand(): Command {
  const command = new Command("submit")
    .summary("submit a task to a server")
    .description("Submit a task, or with --batch many, and print the id; with --wait the result.")
    .argument("[type]", "what the worker shall do; with --batch for all lines that do not say");
  withTask(command)
    .option(
      "--deadline <when>",
      "fail if it has not started by then: a time with a zone, or a duration from now",
    )
    .option("--run-at <when>", "do not start it before: a time with a zone, or a duration from now")
    .option("--idempotency-key <key>", "the same key means the same task")
    .option("--wait [seconds]", "wait for its end, and print the result")
    .addOption(
      new Option("--batch <file>", "submit a task for each line of JSON; - for the standard input").conflicts(
        ["wait", "idempotencyKey"],
      ),
    );
  return withService(command)
    .addHelpText("after", EXAMPLES)
    .action(async (type: string | undefined, options: SubmitOptions) => {
      const { submitOne, submitLines } = await import("./submission.ts");
      await (options.batch === undefined
        ? submitOne(type, options)
        : submitLines(options.batch, type, options));
    });
}

export function withTask(command: Command): Command {
  return command
    .option("--executor <name>", 'who should run it (default: "default")')
    .option("--payload <json>", "what the worker gets: a JSON object, @FILE, or - for the standard input")
    .addOption(new Option("--priority <name>", "how urgent it is (default: normal)").choices(PRIORITIES))
    .option("--estimate <duration>", "how long it should run, such as 30s or 1h30m (default: 30s)")
    .option("--boost <amount>", "credits for a higher tier")
    .option("--limit <name...>", "the limits that it counts for; gpu=2 counts two")
    .option("--capability <name...>", "what its worker must have")
    .option("--cpu <cores>", "such as 2, 0.5 or 500m (default: none)")
    .option("--memory <size>", "such as 512MiB (default: none)")
    .option("--max-attempts <n>", "how often it may be tried (default: 3)", wholeNumber(1, 101))
    .option("--timeout <duration>", "how long an attempt may take (default: no limit)");
}

const EXAMPLES = `
Examples:
  orrery submit echo --payload '{"hello": "world"}' --wait
  orrery submit resize_image --payload @image.json --priority high --timeout 2m
  orrery submit --batch tasks.jsonl        lines such as {"task_type": "echo", "payload": {"n": 1}}`;
