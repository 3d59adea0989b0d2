import { History } from "../history/index.ts";
import { eventsOf } from "../scheduler/index.ts";
import { replaying, soundBlocks } from "./ledger-reading.ts";

export async function readHistory(path: string): Promise<History> {
  const history = new History();
  for await (const block of soundBlocks(path)) {
    replaying(path, block, () => {
      for (const recorded of eventsOf(block)) history.take(recorded);
    });
  }
  history.close();
  return history;
}
