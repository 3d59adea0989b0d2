import { readdir, readFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { directoryWith } from "../../tests/cli.ts";
import { fetchLedger } from "./ledger-fetch.ts";

/** Fetches from a server that answers in its own way; what is there afterwards. */
async function fetched(answer: (response: ServerResponse) => void): Promise<{
  readonly files: readonly string[];
  readonly bytes: number;
  readonly error: string | undefined;
}> {
  const server = createServer((_, response) => answer(response)).listen(0, "127.0.0.1");
  const directory = await directoryWith({});
  const file = join(directory, "ledger.jsonl");
  const { port } = server.address() as AddressInfo;
  const error = await fetchLedger(file, { server: `http://127.0.0.1:${port}`, key: "sk" }).then(
    () => undefined,
    ({ message }: Error) => message.replace(file, "FILE"),
  );
  server.close();
  server.closeAllConnections();
  const bytes = error === undefined ? (await readFile(file)).length : 0;
  return { files: await readdir(directory), bytes, error };
}

const PIECE = `${"x".repeat(199)}\n`;

/** As fast as it is taken. */
function sendPieces(response: ServerResponse, left: number): void {
  for (let rest = left; rest > 0; rest--) {
    if (response.write(PIECE)) continue;
    response.once("drain", () => sendPieces(response, rest - 1));
    return;
  }
  response.end();
}

test("a ledger in very many pieces is written as it comes, and each takes as long as the first", {
  timeout: 40_000,
}, async () => {
  const pieces = 300_000;
  const { files, bytes, error } = await fetched((response) => sendPieces(response, pieces));
  expect(error).toBeUndefined();
  expect(files).toEqual(["ledger.jsonl"]);
  expect(bytes).toBe(pieces * PIECE.length);
});

test("a refusal is told in the server's words, or by its number", async () => {
  const problem = await fetched((response) => response.writeHead(403).end('{"detail":"only admins may"}'));
  expect(problem).toMatchObject({
    files: [],
    error: "the server does not give its ledger: only admins may",
  });
  const other = await fetched((response) => response.writeHead(502).end("<html>"));
  expect(other).toMatchObject({ files: [], error: "the server does not give its ledger: HTTP 502" });
});

test("of a ledger that breaks off nothing is left", async () => {
  const { files, error } = await fetched((response) => {
    response.write(PIECE, () => response.destroy());
  });
  expect(files).toEqual([]);
  expect(error).toContain("the ledger could not be written to FILE");
});
