import type { Agenda } from "./agenda.ts";
import type { AttemptName, ServerDoor } from "./messages.ts";
import type { Network } from "./network.ts";
import type { Random } from "./random.ts";
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
  wallMs(): number;
  /** Before an attempt runs. */
  onBegun(name: AttemptName): void;
}
