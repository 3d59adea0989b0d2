import { Kernel, type KernelSettings } from "../kernel.ts";
import { Desk } from "./desk.ts";
import { Exchange } from "./exchange.ts";
import { Home } from "./home.ts";
import { MainPost } from "./letters.ts";
import { Mailroom } from "./mail.ts";
import { SplitDeque } from "./split-deque.ts";
import { type ChannelBorder, type Station, ThreadLoop } from "./thread-loop.ts";

/** Shown to thieves: enough for all others, but not so much that all of a processor's fibers get descriptors. */
const SHOWN_PER_PROCESSOR = 2;
const MOST_SHOWN = 64;

/** The kernel of one of several threads. */
export function makeStation(settings: KernelSettings, station: Station): Kernel {
  const { memory, me, directory, post } = station;
  const mailroom = new Mailroom(memory, me, post);
  const shown = station.settings.stealing
    ? Math.min(MOST_SHOWN, SHOWN_PER_PROCESSOR * memory.shared.processors)
    : 0;
  let home: Home;
  let deque: SplitDeque;
  let border: ChannelBorder;
  const kernel = new Kernel(
    settings,
    (made) => new ThreadLoop(made, station, deque, home, border),
    (made) => {
      home = new Home(made, memory, me, directory, post);
      deque = new SplitDeque(memory.dequeOf(me), home, shown);
      made.elsewhere = home;
      border = made.border =
        me === 0 ? new Exchange(made, memory, mailroom) : new Desk(made, memory, mailroom);
      post.passports = border;
      if (post instanceof MainPost && border instanceof Exchange) post.passed = border.passed.bind(border);
      return deque;
    },
  );
  return kernel;
}
