import type { Log } from "../server/index.ts";
import { abandonPostmasters } from "../store/index.ts";
import { echoDetector } from "./signal-echo.ts";

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type Signal = keyof typeof EXIT_CODES;

/** What is not closed by then never will be: requests have 5 seconds, the store 4, PostgreSQL 20 to write all out. */
const STOP_WITHIN_MS = 40_000;

/**
 * Resolves at the first signal. Another one, or a stop that takes too long, ends the process at once; also then
 * nothing that it started goes on. With `reload`, SIGHUP calls it in place of stopping.
 */
export function untilSignal(log: Log, reload: (() => void) | undefined): Promise<"stopped"> {
  return new Promise((done) => {
    let isStopping = false;
    const isEcho = echoDetector();
    const endAtOnce = (message: string, code: number): void => {
      log.warn(message);
      abandonPostmasters();
      process.exit(code);
    };
    const follow = (signal: Signal): void => {
      if (isEcho(signal)) return;
      if (isStopping) endAtOnce("ending at once", EXIT_CODES[signal]);
      isStopping = true;
      const seconds = STOP_WITHIN_MS / 1000;
      log.info(`stopping: what is under way may end first, within ${seconds} s; once more to end at once`, {
        signal,
      });
      setTimeout(() => endAtOnce("stopping takes too long, ending at once", 1), STOP_WITHIN_MS).unref();
      done("stopped");
    };
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, follow);
    process.on("SIGHUP", reload ?? follow);
  });
}
