// Replays the ledger beside the server, and answers from it.

import { parentPort, workerData } from "node:worker_threads";
import type { FromThread, ThreadSettings, ToThread } from "./messages.ts";
import { PastLedger } from "./past-ledger.ts";

const ledger = new PastLedger(workerData as ThreadSettings);

parentPort?.on("message", (message: ToThread) => {
  if (message.type === "ask") void answer(message);
  else {
    for (const block of message.blocks) ledger.add(block);
    say({ type: "fed", seq: ledger.lastSeq });
  }
});

async function answer({ id, question, args }: Extract<ToThread, { type: "ask" }>): Promise<void> {
  try {
    const ask = ledger[question] as (...given: unknown[]) => unknown;
    say({ type: "answer", id, answer: await ask.apply(ledger, [...args]) });
  } catch (error) {
    say({ type: "failed", id, error: (error as Error).stack ?? String(error) });
  }
}

function say(message: FromThread): void {
  parentPort?.postMessage(message);
}
