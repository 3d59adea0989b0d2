import { readFileSync } from "node:fs";
import { UsageError } from "./errors.ts";

/** The variables that hold secrets. Each may name a file instead: `ORRERY_API_KEY_FILE`. */
const SECRETS = ["ORRERY_API_KEY", "ORRERY_SECRET", "DATABASE_URL"];

/**
 * Sets the variables of secrets whose files are named, so that all commands find them there. A file suits systemd's
 * `LoadCredential` and the secrets of containers: unlike an environment, it is not shown in /proc and not inherited.
 */
export function readSecretFiles(env: NodeJS.ProcessEnv): void {
  for (const name of SECRETS) {
    const variable = `${name}_FILE`;
    const file = env[variable];
    if (!file) continue;
    if (env[name]) throw new UsageError(`${name} and ${variable} are both set; unset one of them`);
    const secret = textOf(file, variable);
    if (secret === "")
      throw new UsageError(`${variable}: ${file} is empty; write the value of ${name} into it`);
    env[name] = secret;
  }
}

function textOf(file: string, variable: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new UsageError(`${variable}: ${file} cannot be read: ${(cause as Error).message}`);
  }
}
