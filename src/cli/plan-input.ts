import { readFile } from "node:fs/promises";
import { refusalOf, type Settings } from "../config/index.ts";
import type { Project } from "../plan/index.ts";
import { readProject, sourceFile } from "../sources/index.ts";
import { NotFoundError, UsageError } from "./errors.ts";
import { warn } from "./output.ts";
import type { PlanOptions } from "./plan.ts";
import { neutralise } from "./terminal-text.ts";

/** Of a directory, the issues of Beads in it are meant. */
export async function readPlanFile(path: string): Promise<Project> {
  const file = await sourceFile(path).catch(() => path);
  const source = await readFile(file).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "ENOENT") throw new UsageError(`${file}: ${cause.message}`);
    const hint = file === path ? "" : "; of a directory the issues of Beads are planned, else name a file";
    throw new NotFoundError(`${file}: no such file${hint}`);
  });
  const result = readProject(source, file, { now: Date.now() });
  if (result.ok) return result.project;
  throw new UsageError(
    result.problems.map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`).join("\n"),
  );
}

/** Which of them have a setting, whose range holds for options too. */
const SETTINGS: ReadonlyMap<string, string> = new Map([
  ["slots", "scheduling.max_concurrent_workcells"],
  ["tokens", "scheduling.max_concurrent_tokens"],
]);

function optionOf(name: string, resources: Amounts): string {
  return Object.hasOwn(resources, name) ? `--resource ${neutralise(name)}=…` : `--${name}`;
}

type Amounts = Readonly<Record<string, number>>;

/** What the command line says there is, by the names of resources. */
export function givenAmounts({ slots, tokens, resource = {} }: PlanOptions): Map<string, number> {
  const given = new Map(Object.entries(resource));
  for (const [name, count] of Object.entries({ slots, tokens })) {
    if (count === undefined) continue;
    if (given.has(name))
      throw new UsageError(`--${name} and --resource ${name}=… say the same; give one of them`);
    given.set(name, count);
  }
  for (const [name, count] of given) {
    const refusal = refusalOf(SETTINGS.get(name) ?? "", count);
    if (refusal !== undefined) throw new UsageError(`${optionOf(name, resource)} ${refusal}`);
  }
  return given;
}

/**
 * What there is of every resource that some node uses: as it is given, else as the file of the project says, else as
 * the settings say. What nobody says anything of is not limited.
 */
export function capacitiesOf(
  project: Project,
  { scheduling, resources }: Settings,
  given: ReadonlyMap<string, number>,
): Amounts {
  const configured = new Map(Object.entries(resources));
  configured.set("slots", scheduling.maxConcurrentWorkcells).set("tokens", scheduling.maxConcurrentTokens);
  const inFile = new Map(Object.entries(project.capacities));
  const amounts = [...usedResources(project)].flatMap((name): [string, number][] => {
    const amount = given.get(name) ?? inFile.get(name) ?? configured.get(name);
    return amount === undefined ? [] : [[name, amount]];
  });
  return Object.fromEntries(amounts);
}

export function warnOfUnused(project: Project, given: ReadonlyMap<string, number>): void {
  const used = usedResources(project);
  const known = used.size === 0 ? "no node uses any" : `they use ${[...used].map(neutralise).join(", ")}`;
  for (const name of given.keys()) {
    if (!used.has(name)) warn(`no node uses ${neutralise(name)}; ${known}`);
  }
}

function usedResources({ activities, capacities }: Project): Set<string> {
  const used = new Set(Object.keys(capacities));
  for (const { uses } of activities) for (const name of Object.keys(uses)) used.add(name);
  return used;
}
