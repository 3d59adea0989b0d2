import { closest } from "../protocol/index.ts";
import { type ConfigProblem, type Given, type Origin, originText } from "./origin.ts";
import type { Reader } from "./setting.ts";
import { AMOUNT, PLANNED, RESOURCES, ROW_OF, ROWS, type Row, SECTION_NAMES, variableOf } from "./table.ts";
import type { ValueType } from "./value-type.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** What an option said: its text, its texts, or that it was there. */
export interface GivenOption {
  /** Such as `queue.fair_share`. */
  readonly path: string;
  readonly option: string;
  readonly value: string | boolean | readonly string[];
}

export interface Outside {
  readonly given: ReadonlyMap<string, Given>;
  readonly problems: readonly ConfigProblem[];
}

/** What variables of the environment say. One that is empty says nothing. */
export function readEnvironment(env: Environment, reader: Reader | undefined): Outside {
  const reading = new OutsideReading();
  for (const row of ROWS) {
    if (reader !== undefined && !row.setting.readers.includes(reader)) continue;
    const name = variablesOf(row).find((name) => env[name]);
    if (name !== undefined) reading.take(row.path, env[name] as string, { kind: "variable", name });
  }
  return reading;
}

/** The setting's own variable goes before one that it shares with other programs. */
function variablesOf(row: Row): readonly string[] {
  const { variable } = row.setting;
  return variable === undefined ? [variableOf(row)] : [variableOf(row), variable];
}

/** What a worker tells the commands that it runs. */
const OF_TASKS: ReadonlySet<string> = new Set(["ORRERY_RUN_ID", "ORRERY_WORKER_ID"]);

/** Variables that look like those of settings, with what may have been meant. */
export function unknownVariables(env: Environment): [name: string, meant: string | undefined][] {
  const known = ROWS.flatMap(variablesOf);
  const prefixes = SECTION_NAMES.map((section) => `ORRERY_${section.toUpperCase()}_`);
  return Object.keys(env)
    .filter((name) => prefixes.some((prefix) => name.startsWith(prefix)))
    .filter((name) => !known.includes(name) && !OF_TASKS.has(name))
    .map((name) => [name, ofResource(name) ?? closest(name, known)]);
}

/** Names of resources are the user's own, so there are no variables for them. */
function ofResource(variable: string): string | undefined {
  const [, name] = variable.split(`ORRERY_${RESOURCES.toUpperCase()}_`);
  return name ? `--set ${RESOURCES}.${name.toLowerCase()}=…` : undefined;
}

/** What options of the command line say; the last one of the same setting counts. */
export function readOptions(options: readonly GivenOption[]): Outside {
  const reading = new OutsideReading();
  for (const { path, option, value } of options) reading.take(path, value, { kind: "option", option });
  return reading;
}

class OutsideReading implements Outside {
  readonly given = new Map<string, Given>();
  readonly problems: ConfigProblem[] = [];

  take(path: string, said: GivenOption["value"], origin: Origin): void {
    const refuse = (message: string) => this.problems.push({ where: undefined, message });
    const name = originText(origin);
    const type = typeAt(path);
    if (type === undefined) {
      const meant = closest(path, ROW_OF.keys());
      const mend = meant ? `did you mean ${meant}?` : "orrery config show lists what there is";
      refuse(`${name}: there is no such setting; ${mend}`);
      return;
    }
    const instead = PLANNED.get(path);
    if (instead !== undefined) refuse(`${name} ${instead}`);
    const isSecret = ROW_OF.get(path)?.setting.mask !== undefined;
    const value = type.parse(typeof said === "string" ? type.fromText(said) : said, (refusal) => {
      refuse(`${name} ${isSecret ? withoutValue(refusal) : refusal}`);
    });
    if (value !== undefined) this.given.set(path, { value, origin });
  }
}

/** What may hold a password is not repeated. */
export function withoutValue(refusal: string): string {
  return refusal.replace(/; got .*$/s, "");
}

function typeAt(path: string): ValueType<unknown> | undefined {
  const isResource = path.startsWith(`${RESOURCES}.`) && path.length > RESOURCES.length + 1;
  return isResource ? AMOUNT : ROW_OF.get(path)?.setting.type;
}
