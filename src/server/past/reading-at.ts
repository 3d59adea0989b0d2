import type { ServiceStore, TaskRow } from "../../store/index.ts";
import { READINGS, type Reading, type TaskView } from "../api.ts";
import type { Read } from "./questions.ts";
import type { PastThread } from "./thread.ts";

/**
 * What could be seen after an event. Payloads, settings, results and logs are not in the ledger: they come from what is stored
 * now.
 */
export function readingAt(
  at: number,
  reached: () => Promise<PastThread>,
  store: Pick<ServiceStore, "task" | "logs">,
): Reading {
  const read = async (method: keyof Reading, args: readonly unknown[], brought?: Read["brought"]) =>
    await (await reached()).ask("read", { at, method, args, brought });
  const others = READINGS.map((method) => [method, (...args: readonly unknown[]) => read(method, args)]);
  return {
    ...(Object.fromEntries(others) as Reading),
    async task(caller, id) {
      const today = await store.task(id);
      const brought = today && { id, settings: today.settings };
      const view = (await read("task", [caller, id], brought)) as TaskView | undefined;
      return view && withContent(view, today);
    },
    async log(caller, id, afterLine, limit) {
      if ((await read("task", [caller, id])) === undefined) return undefined;
      const now = await (await reached()).ask("time", at);
      return (await store.logs(id, afterLine, limit)).filter((line) => line.at <= now);
    },
  };
}

/** What was submitted stays; a result is the one of then if its hash is. */
function withContent(view: TaskView, today: TaskRow | undefined): TaskView {
  const isSameResult = view.resultHash !== "" && today?.resultHash === view.resultHash;
  return {
    ...view,
    payload: today?.payload ?? "null",
    settings: today?.settings ?? view.settings,
    result: isSameResult && view.status === "completed" ? today.result : undefined,
  };
}
