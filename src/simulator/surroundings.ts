import type { Agenda } from "./agenda.ts";
import type { AttemptName, ServerDoor } from "./messages.ts";
import type { Network } from "./network.ts";
import type { Random } from "./random.ts";
import type { DataWeather } from "./random-data.ts";
import type { Growth } from "./random-growth.ts";
import type { Weather } from "./scenario.ts";
import type { Tally } from "./tally.ts";

/** What a simulated worker lives in. */
export interface Surroundings {
  readonly agenda: Agenda;
  readonly network: Network;
  readonly random: Random;
  readonly weather: Weather;
  readonly tally: Tally;
  readonly server: ServerDoor;
  /** Undefined: nodes hand no data to each other. */
  readonly data: DataWeather | undefined;
  /** Undefined: no attempt adds nodes to its run. */
  readonly growth: Growth | undefined;
  /** Draws that only happen where there is data. */
  readonly dataRandom: Random;
  /** Draws that only happen where workers give back. */
  readonly recallRandom: Random;
  wallMs(): number;
  /** Whether a worker gives out a result that it has. */
  fetch(from: string, chunk: AttemptName): boolean;
  /** An attempt kills the process that runs it. */
  onPoisoned(worker: string): void;
  /** Before an attempt runs. */
  onBegun(name: AttemptName): void;
}
