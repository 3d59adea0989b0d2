// A test server as a process of its own, to be killed: says in JSON lines what it hears, and assigns what it reads.
//
//   worker-server-main.ts PORT [silent]

import { createInterface } from "node:readline";
import type { Assignment } from "../src/protocol/worker-messages.ts";
import { TestServer } from "./worker-server.ts";

const say = (value: unknown): void => {
  process.stdout.write(`${JSON.stringify(value)}\n`);
};

const [port, manner] = process.argv.slice(2);
const server = await TestServer.start({ port: Number(port), onHeard: say });
if (manner === "silent") server.answer = () => undefined;
say({ type: "listening", port: server.port });
for await (const line of createInterface(process.stdin)) server.assign(JSON.parse(line) as Assignment);
