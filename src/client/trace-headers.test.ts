import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { context, createTraceState, trace } from "@opentelemetry/api";
import { node } from "@opentelemetry/sdk-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { OrreryClient } from "./client.ts";
import { traceHeaders } from "./trace-headers.ts";

const provider = new node.NodeTracerProvider();
beforeAll(() => {
  expect(traceHeaders()).toEqual({});
  provider.register();
});
afterAll(async () => {
  await provider.shutdown();
  trace.disable();
  context.disable();
});

function sent(): { readonly client: OrreryClient; readonly headers: Record<string, string>[] } {
  const headers: Record<string, string>[] = [];
  const client = new OrreryClient({
    url: "http://127.0.0.1:1",
    key: "k",
    fetch: async (_, init) => {
      headers.push(init?.headers as Record<string, string>);
      return Response.json({ id: "t" });
    },
  });
  return { client, headers };
}

test("requests carry the trace that is active, and none where there is none", async () => {
  const { client, headers } = sent();
  await client.submit({ task_type: "t" });
  const traceState = createTraceState("shop=7");
  const remote = {
    traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
    spanId: "00f067aa0ba902b7",
    traceFlags: 1,
    traceState,
  };
  const outer = trace.setSpanContext(context.active(), remote);
  const inner = await context.with(outer, () =>
    trace.getTracer("test").startActiveSpan("a", async (span) => {
      await client.submit({ task_type: "t" });
      return span.spanContext();
    }),
  );
  expect(headers.map(({ traceparent, tracestate }) => [traceparent, tracestate])).toEqual([
    [undefined, undefined],
    [`00-${remote.traceId}-${inner.spanId}-01`, "shop=7"],
  ]);
});

test("whoever traces all requests adds the headers, and the client does not", () => {
  const follow = () => {};
  subscribe("undici:request:create", follow);
  trace.getTracer("test").startActiveSpan("a", () => expect(traceHeaders()).toEqual({}));
  unsubscribe("undici:request:create", follow);
  trace.getTracer("test").startActiveSpan("a", () => expect(traceHeaders()).toHaveProperty("traceparent"));
});
