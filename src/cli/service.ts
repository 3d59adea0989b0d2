/** How commands reach a server, and what they say when that fails. Loaded only when one is asked. */

import { OrreryClient, OrreryError } from "../client/index.ts";
import { CheckFailed, type CliError, NotFoundError, UsageError } from "./errors.ts";
import type { ServiceOptions } from "./service-options.ts";
import { neutralise } from "./terminal-text.ts";

type Address = Omit<ServiceOptions, "json">;

/** How long a request is sent again; by default as long as the client likes. */
interface Patience {
  readonly retryForMs?: number;
}

/** Does something with a server; what goes wrong there ends the command with words for people. */
export async function atService<Result>(
  options: Address,
  use: (client: OrreryClient) => Promise<Result>,
  patience: Patience = {},
): Promise<Result> {
  const client = connect(options, patience);
  try {
    return await use(client);
  } catch (error) {
    throw error instanceof OrreryError ? cliErrorOf(error, options) : error;
  }
}

function connect({ server, key, zone, agent }: Address, patience: Patience): OrreryClient {
  if (!/^https?:$/.test(URL.canParse(server) ? new URL(server).protocol : "")) {
    throw new UsageError(`${server} is no URL of a server; one looks like http://127.0.0.1:2026`);
  }
  if (!key) throw new UsageError("there is no API key; set ORRERY_API_KEY, or use --key");
  let said = "";
  try {
    return new OrreryClient({
      url: server,
      key,
      zone,
      agent,
      ...patience,
      onRetry: (failure, _, isReached) => {
        // Where there never was a server, nobody wants to wait for one.
        if (failure.code === "unreachable" && !isReached) throw failure;
        if (failure.detail !== said)
          process.stderr.write(`orrery: ${neutralise(failure.detail)}; trying again\n`);
        said = failure.detail;
      },
    });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}

export function cliErrorOf(error: OrreryError, options: Address): CliError {
  const { server } = options;
  if (error.code === "unreachable")
    return new CheckFailed(`no server answers at ${server}; start one with: orrery serve`);
  switch (error.status) {
    case 401:
      return new UsageError(
        `${server} does not accept ${keyName(options)}; set ORRERY_API_KEY to a valid key, or use --key`,
      );
    case 404:
      return new NotFoundError(error.detail);
    case 422:
      return new UsageError(fieldErrors(error));
    case 400:
    case 403:
    case 413:
    case 415:
      return new UsageError(error.detail);
    case 500:
      return new CheckFailed(`${error.detail} (request ${error.requestId ?? "unknown"})`);
    default:
      return new CheckFailed(error.detail);
  }
}

/** Which key it was. The key itself is never shown. */
function keyName({ key }: Address): string {
  return key === process.env["ORRERY_API_KEY"] ? "the key in ORRERY_API_KEY" : "the key given with --key";
}

function fieldErrors({ detail, errors }: OrreryError): string {
  if (errors.length === 0) return detail;
  return errors
    .map(({ pointer, path, line, detail: what }) => {
      const where = line === undefined ? (path ?? pointer.slice(1).replaceAll("/", ".")) : `line ${line}:`;
      return `${where} ${what}`.trim();
    })
    .join("\n");
}
