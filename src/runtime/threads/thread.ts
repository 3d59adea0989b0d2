// What runs on each thread but the main one.

import { parentPort, workerData } from "node:worker_threads";
import { PROFILES } from "../profiles.ts";
import { viewKernel } from "../snapshot.ts";
import type { ThreadData } from "./crew.ts";
import { Directory } from "./directory.ts";
import { type Inquired, ThreadPost } from "./letters.ts";
import { Memory } from "./memory.ts";
import { Recorder } from "./recorder.ts";
import { seeToStall } from "./stall.ts";
import { type Equipped, makeStation, type Station } from "./station.ts";
import { Telling } from "./telling.ts";
import { clockOf, ThreadLoop } from "./thread-loop.ts";

const data = workerData as ThreadData;
const { me } = data;
const memory = new Memory(data.memory);
const post = new ThreadPost(memory, data.port);
const recorder = data.memory.recorded ? new Recorder(() => clockOf(data.startedMs)) : undefined;
const telling = new Telling(data.hooks, (told) => {
  post.send({ to: 0, kind: "told", record: -1, serial: 0, value: told });
});
let equipped: Equipped | undefined;
const station: Station = {
  me,
  memory,
  directory: new Directory(memory),
  post,
  recorder,
  chance: recorder,
  settings: data.settings,
  startedMs: data.startedMs,
  sleepsAsAWhole: true,
  shutDown: () => process.exit(0),
  asked: (letter) => answer(letter.value as Inquired),
  idle: () => {
    telling.flush();
    memory.publish(me, kernel.counters);
  },
  stalled: () => memory.ring(0),
};
const kernel = makeStation(
  { ...data.kernel, profile: PROFILES[data.profile], processors: 1, observer: telling.observer },
  station,
  (made, parts) => {
    equipped = parts;
    return new ThreadLoop(made, parts);
  },
);

function answer(inquired: Inquired): void {
  telling.flush();
  memory.publish(me, kernel.counters);
  const value: Inquired = { ...inquired, from: me, answer: answerTo(inquired) };
  post.send({ to: 0, kind: "answer", record: -1, serial: 0, value });
}

function answerTo({ what, limit }: Inquired): unknown {
  if (what === "log") return recorder?.log;
  if (what === "stall") return seeToStall(kernel, recorder);
  if (what === "view" && equipped !== undefined) return viewKernel(kernel, equipped.guests.nursery, limit);
  return true;
}

// Whatever fibers wait for, the thread stays until it is told to end.
setInterval(() => undefined, 2 ** 31 - 1);
parentPort?.postMessage("there");
kernel.loop.offered(undefined);
