import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { Type } from "typebox";
import { NotGiven, requestChunk } from "../../chunks/index.ts";
import { taskIdOf } from "../../core/index.ts";
import { TaskAnswer } from "../../protocol/api-schemas.ts";
import type { NodeResult } from "../api.ts";
import { sendTask } from "./answers.ts";
import { callerOf } from "./auth.ts";
import { MomentQuery, readingOf } from "./moments.ts";
import { Problem } from "./problems.ts";
import { type App, answers, type Edge, isName, notFound, PathId } from "./route.ts";
import { signalOf } from "./signal.ts";

const NodeName = Type.Object({
  id: Type.String({ description: "A run's id." }),
  node: Type.String({ description: "A node's id in its graph." }),
});
const Stored = Type.Object(
  {
    kind: Type.Literal("json"),
    value: Type.Unknown({ description: 'What is no JSON stands as {"$chunk": kind, "base64": …}.' }),
  },
  { title: "NodeResult" },
);
const Released = Type.Object({ released: Type.Boolean(), run_id: Type.String() });

/** The nodes of a run: their tasks, and their results of any size. */
export function resultRoutes(app: App, edge: Edge): void {
  const { api, closing } = edge;
  app.get(
    "/runs/:id/nodes/:node",
    {
      config: { scopes: ["read"] },
      schema: {
        summary: "Get a node's task",
        tags: ["runs"],
        params: NodeName,
        querystring: MomentQuery,
        response: answers({ 200: TaskAnswer }),
      },
    },
    async (request, reply) => {
      const { id, node } = request.params;
      const caller = callerOf(request);
      const reading = readingOf(edge, request);
      const task = isName(id) && isName(node) ? await reading.task(caller, taskIdOf(id, node)) : undefined;
      if (!task) throw notFound("node");
      return sendTask(reply, task);
    },
  );

  app.get(
    "/runs/:id/nodes/:node/result",
    {
      config: { scopes: ["read"] },
      schema: {
        summary: "Get a node's result",
        description:
          "A small one as JSON. A large one comes from the worker that holds it, as its bytes; how to read them is said " +
          "by the header x-orrery-kind: json, text, bytes or clone.",
        tags: ["runs"],
        params: NodeName,
        response: answers({ 200: Stored }),
      },
    },
    async (request, reply) => {
      const { id, node } = request.params;
      const caller = callerOf(request);
      const found = isName(id) && isName(node) ? await api.nodeResult(caller, id, node) : undefined;
      if (!found) throw notFound("node");
      if (found.is === "stored") return { kind: "json" as const, value: JSON.parse(found.result) as unknown };
      return await sendHeld(reply, node, found, signalOf(reply.raw, closing));
    },
  );

  app.post(
    "/runs/:id/release",
    {
      config: { scopes: ["submit"], ignoresBody: true, audit: "run.release" },
      schema: {
        summary: "Release a run's results",
        description: "What workers keep of it is freed. Small results stay with their tasks.",
        tags: ["runs"],
        params: PathId("id", "A run's id."),
        response: answers({ 200: Released }),
      },
    },
    async (request) => {
      const { id } = request.params;
      const released = isName(id) ? await api.releaseRun(callerOf(request), id) : false;
      return { released, run_id: id };
    },
  );
}

async function sendHeld(
  reply: FastifyReply,
  node: string,
  found: Exclude<NodeResult, { is: "stored" }>,
  signal: AbortSignal,
): Promise<FastifyReply> {
  if (found.is === "gone")
    throw new Problem("result-gone", `the result of ${node} was freed, since nobody needed it any more`);
  if (found.is === "lost")
    throw new Problem(
      "result-lost",
      `the result of ${node} was lost with its worker, after its run had ended; submit it again`,
    );
  if (found.is === "not-completed") {
    const because = found.error === "" ? "" : `: ${found.error}`;
    throw new Problem("not-completed", `${node} has no result, it is ${found.status}${because}`);
  }
  if (found.is === "away")
    throw new Problem("unavailable", `no worker that has the result of ${node} is there now; try again`);
  const { kind, bytes, sha256 } = found.handle;
  const body = await firstToAnswer(found, signal);
  if (body === "nobody")
    throw new Problem(
      "result-lost",
      `no worker has the result of ${node} as it was recorded any more, and its run has ended; submit it again`,
    );
  if (!body)
    throw new Problem("unavailable", `no worker gives the result of ${node} as it was recorded; try again`);
  return reply
    .type("application/octet-stream")
    .headers({ "content-length": String(bytes), "x-orrery-kind": kind, "x-orrery-sha256": sha256 })
    .send(Readable.from(body));
}

/**
 * From a holder that has sent what it begins with: until then the next one can be asked in its place. Nobody: all who had it say
 * that they do not, and trying again would not help.
 */
async function firstToAnswer(
  { chunk: id, from, token, handle: expected, isLast }: Extract<NodeResult, { is: "held" }>,
  signal: AbortSignal,
): Promise<AsyncIterable<Buffer> | "nobody" | undefined> {
  let isSure = isLast;
  for (const { url, permits } of from) {
    try {
      const { body } = await requestChunk({ url, id, token, permits, signal, expected });
      const pieces = exactly(expected.bytes, body);
      const first = await pieces.next();
      return first.done ? pieces : followedBy(first.value, pieces);
    } catch (error) {
      // The next holder may answer.
      isSure &&= error instanceof NotGiven && error.why === "gone";
    }
  }
  return isSure ? "nobody" : undefined;
}

async function* followedBy(first: Buffer, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* pieces;
}

/**
 * What comes behind the promised length, the client would read as the answer to its next request; and for what is missing it would
 * wait. Throwing ends its connection.
 */
async function* exactly(length: number, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest = length;
  for await (const piece of body) {
    rest -= piece.length;
    if (rest < 0) break;
    yield piece;
  }
  if (rest !== 0)
    throw new Error("the worker that has the result sent another length of it than it had said");
}
