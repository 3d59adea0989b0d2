import { startTelemetry, TelemetryError } from "../telemetry/index.ts";
import { UsageError } from "./errors.ts";

/** Traces where they are asked for, until the command ends. */
export async function telemetryFor(
  { otel }: { readonly otel: boolean },
  serviceName: string,
): Promise<AsyncDisposable> {
  if (!otel) return { [Symbol.asyncDispose]: async () => {} };
  try {
    return { [Symbol.asyncDispose]: await startTelemetry(serviceName) };
  } catch (error) {
    throw error instanceof TelemetryError ? new UsageError(error.message) : error;
  }
}
