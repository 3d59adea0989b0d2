// A worker in a process of its own. Says when it is connected, and when as many tasks as it was told have ended and
// their ends are committed.

import { task, WebSocketTransport, Worker } from "../../dist/worker/index.js";
import { endWhenTold } from "./apart.mjs";
import { Closers } from "./closers.mjs";

/**
 * @typedef {object} WorkerJob
 * @property {string} url
 * @property {string} key
 * @property {number} slots
 * @property {number} count
 */

const { url, key, slots, count } = /** @type {WorkerJob} */ (JSON.parse(process.argv[2] ?? ""));
endWhenTold(new Closers());
const transport = new WebSocketTransport({ url, key });
let committed = 0;
const worker = new Worker({
  transport: {
    async connect(registration, host) {
      const connection = await transport.connect(registration, host);
      const report = connection.report.bind(connection);
      connection.report = async (ended) => {
        const ack = await report(ended);
        if (ack.accepted && ++committed === count) process.send?.("done");
        return ack;
      };
      return connection;
    },
  },
  handlers: { noop: task(() => undefined) },
  registration: { id: "bench", executors: ["default"], cpu_millicores: 1000, memory_bytes: 2 ** 30, slots },
  observe: (event) => {
    if (event.type === "connected") process.send?.("connected");
    if (event.type === "disconnected" || event.type === "warning")
      process.stderr.write(`${JSON.stringify(event)}\n`);
  },
});
await worker.run();
