// A collector of traces on loopback, as OTLP sends them in JSON.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

export interface CollectedSpan {
  readonly service: string;
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: { readonly code?: number; readonly message?: string };
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<CollectedSpan, "attributes" | "service"> & {
        readonly attributes: readonly Attribute[];
      })[];
    }[];
  }[];
}

export class TraceCollector implements AsyncDisposable {
  readonly spans: CollectedSpan[] = [];
  readonly #server: Server;

  static async open(): Promise<TraceCollector> {
    const collector = new TraceCollector();
    collector.#server.listen(0, "127.0.0.1");
    await once(collector.#server, "listening");
    return collector;
  }

  private constructor() {
    this.#server = createServer((request, response) => {
      void text(request).then((body) => {
        if (request.url === "/v1/traces") this.spans.push(...spansOf(JSON.parse(body) as Sent));
        response.writeHead(200, { "content-type": "application/json" }).end("{}");
      });
    });
  }

  /** What makes a process send its traces here. */
  get env(): Readonly<Record<string, string>> {
    return {
      ORRERY_OTEL: "1",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "50",
    };
  }

  async span(name: string, fits: (span: CollectedSpan) => boolean = () => true): Promise<CollectedSpan> {
    for (let waitedMs = 0; waitedMs < 60_000; waitedMs += 20) {
      const found = this.spans.find((span) => span.name === name && fits(span));
      if (found) return found;
      await sleep(20);
    }
    throw new Error(`there was no span ${name}, only ${this.spans.map((span) => span.name).join(", ")}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

function spansOf({ resourceSpans }: Sent): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        service: String(attributesOf(resource.attributes)["service.name"]),
        attributes: attributesOf(span.attributes),
      })),
    ),
  );
}

function attributesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
