// Replays the ledger beside the server, and answers from it.

import { parentPort } from "node:worker_threads";
import type { FromThread, ToThread } from "./messages.ts";
import { PastLedger } from "./past-ledger.ts";

let ledger: PastLedger | undefined;

parentPort?.on("message", (message: ToThread) => {
  switch (message.type) {
    case "open":
      ledger = new PastLedger(message.settings);
      break;
    case "close":
      ledger = undefined;
      say({ type: "closed" });
      break;
    case "ask":
      if (ledger) void answer(ledger, message);
      break;
    case "blocks":
      if (!ledger) break;
      for (const block of message.blocks) ledger.add(block);
      say({ type: "fed", seq: ledger.lastSeq });
  }
});

async function answer(
  asked: PastLedger,
  { id, question, args }: Extract<ToThread, { type: "ask" }>,
): Promise<void> {
  const reply = await replyFrom(asked, id, question, args);
  // Nobody waits for what was asked of a ledger that is closed.
  if (asked === ledger) say(reply);
}

async function replyFrom(
  asked: PastLedger,
  id: number,
  question: Extract<ToThread, { type: "ask" }>["question"],
  args: readonly unknown[],
): Promise<FromThread> {
  try {
    const ask = asked[question] as (...given: unknown[]) => unknown;
    return { type: "answer", id, answer: await ask.apply(asked, [...args]) };
  } catch (error) {
    return { type: "failed", id, error: (error as Error).stack ?? String(error) };
  }
}

function say(message: FromThread): void {
  parentPort?.postMessage(message);
}
