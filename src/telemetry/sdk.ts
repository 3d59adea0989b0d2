/** Telemetry was asked for and cannot be had; the message says what to do. */
export class TelemetryError extends Error {
  override readonly name = "TelemetryError";
}

/** Ends what was started, after what is still to be sent was sent. */
export type StopTelemetry = () => Promise<void>;

const PACKAGE = "@opentelemetry/sdk-node";
/** What a collector that does not answer may hold up the process's end. */
const STOP_WITHIN_MS = 2_000;

/** Sets up OpenTelemetry as the variables OTEL_… say, with traces only unless they ask for more. */
export async function startTelemetry(serviceName: string): Promise<StopTelemetry> {
  const { NodeSDK } = await load();
  // These would go to a collector that may take traces alone.
  process.env["OTEL_METRICS_EXPORTER"] ??= "none";
  process.env["OTEL_LOGS_EXPORTER"] ??= "none";
  const sdk = new NodeSDK({ serviceName: process.env["OTEL_SERVICE_NAME"] ?? serviceName });
  sdk.start();
  return async () => {
    const late = new Promise<void>((done) => setTimeout(done, STOP_WITHIN_MS).unref());
    await Promise.race([sdk.shutdown().catch(() => {}), late]);
  };
}

async function load(): Promise<typeof import("@opentelemetry/sdk-node")> {
  try {
    return await import("@opentelemetry/sdk-node");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new TelemetryError(
      `--otel needs the package ${PACKAGE}; install it with: npm install ${PACKAGE}@0.223`,
      {
        cause,
      },
    );
  }
}
