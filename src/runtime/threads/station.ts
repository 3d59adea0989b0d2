import { Kernel, type KernelSettings } from "../kernel.ts";
import { Home } from "./home.ts";
import { SplitDeque } from "./split-deque.ts";
import { type Station, ThreadLoop } from "./thread-loop.ts";

/** Shown to thieves: enough for all others, but not so much that all of a processor's fibers get descriptors. */
const SHOWN_PER_PROCESSOR = 2;
const MOST_SHOWN = 64;

/** The kernel of one of several threads. */
export function makeStation(settings: KernelSettings, station: Station): Kernel {
  const { memory, me, directory, post } = station;
  const shown = station.settings.stealing
    ? Math.min(MOST_SHOWN, SHOWN_PER_PROCESSOR * memory.shared.processors)
    : 0;
  let home: Home;
  let deque: SplitDeque;
  const kernel = new Kernel(
    settings,
    (made) => new ThreadLoop(made, station, deque, home),
    (made) => {
      home = new Home(made, memory, me, directory, post);
      deque = new SplitDeque(memory.dequeOf(me), home, shown);
      made.elsewhere = home;
      return deque;
    },
  );
  return kernel;
}
