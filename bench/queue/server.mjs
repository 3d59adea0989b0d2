// A server in a process of its own. Says where it listens, and what it uses when asked.

import { makeLog, startServer } from "../../dist/server/index.js";
import { endWhenTold } from "./apart.mjs";
import { Closers } from "./closers.mjs";
import { usageOfThis } from "./usage.mjs";

/**
 * @typedef {object} ServerJob
 * @property {string} [store]
 * @property {string} dataDir
 * @property {string} key
 * @property {import("../../dist/server/index.js").ServiceSettings["config"]} config
 */

const closers = new Closers();
endWhenTold(closers);
const { store, dataDir, key, config } = /** @type {ServerJob} */ (JSON.parse(process.argv[2] ?? ""));
const { url } = await closers.use(
  startServer({
    host: "127.0.0.1",
    port: 0,
    strictPort: true,
    store,
    dataDir,
    apiKey: key,
    version: "bench",
    settings: { config },
    log: makeLog({ level: "warn", write: (line) => process.stderr.write(line) }),
    onFailed: (error) => {
      process.stderr.write(`${error.stack}\n`);
      void closers.closeAll().then(() => process.exit(1));
    },
  }),
);
process.on("message", () => process.send?.(usageOfThis()));
process.send?.(url);
