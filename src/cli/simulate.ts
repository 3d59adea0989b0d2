import { Command } from "commander";
import { CheckFailed, UsageError } from "./errors.ts";

interface SimulateFlags {
  readonly seeds: string;
  readonly json?: true;
  readonly ledger?: string;
  readonly verbose?: true;
}

export function simulateCommand(): Command {
  return new Command("simulate")
    .summary("play random scenarios with faults against the scheduler and check every step")
    .description(
      "Play the scenario of each seed on a virtual clock: random graphs and workers, lost and doubled messages, crashes, time-outs, cancels. Every step is held against a model of its own.",
    )
    .option("--seeds <range>", "the seeds to play, as FIRST..LAST", "1..100")
    .option("--json", "print the result as JSON")
    .option("--ledger <file>", "write the ledger of the seed, where it is a single one")
    .option("--verbose", "print every event, and where an invariant broke")
    .addHelpText(
      "after",
      "\nExit code: 0 if every invariant held, 1 if not, 2 for a bad range.\n\nExamples:\n  orrery simulate --seeds 1..500\n  orrery simulate --seeds 17..17 --verbose\n  orrery simulate --seeds 17..17 --ledger seed-17.ledger && orrery verify seed-17.ledger",
    )
    .action(async (flags: SimulateFlags) => {
      const [first, last] = parseRange(flags.seeds);
      if (flags.ledger !== undefined && first !== last)
        throw new UsageError(`--ledger takes the ledger of one seed: say --seeds ${first}..${first}`);
      const { playSeeds } = await import("./simulation.ts");
      const held = await playSeeds(first, last, {
        json: flags.json === true,
        verbose: flags.verbose === true,
        ledger: flags.ledger,
      });
      if (!held) throw new CheckFailed();
    });
}

function parseRange(text: string): [first: number, last: number] {
  const [, first, last] = /^(\d{1,15})\.\.(\d{1,15})$/.exec(text) ?? [];
  if (first === undefined || last === undefined)
    throw new UsageError(`--seeds takes a range like 1..500, not ${JSON.stringify(text)}`);
  if (Number(first) > Number(last))
    throw new UsageError(`--seeds ${text} is empty: the first seed comes after the last`);
  return [Number(first), Number(last)];
}
