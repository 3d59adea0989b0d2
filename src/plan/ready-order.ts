import { RISKS } from "../graph/index.ts";
import { holdsUp, slackOf, weightOf } from "./critical-path.ts";
import type { Levels } from "./levels.ts";
import type { OrderReason } from "./plan.ts";
import type { Problem } from "./problem.ts";
import type { Activity, Project } from "./project.ts";
import { urgencyOf } from "./starvation.ts";

/** What makes one activity go before another, the first that tells them apart; the smaller value goes first. */
type Criterion = readonly [code: OrderReason["code"], values: Float64Array];

export interface Ready {
  readonly n: number;
  /** Why it stands before the next. */
  readonly reason: OrderReason;
}

/** Everything that could start now by what it needs, in the order in which it goes. */
export function readyOrder(project: Project, problem: Problem, levels: Levels): Ready[] {
  const ready: number[] = [];
  for (let n = problem.running; n < problem.size; n++) {
    if (problem.needs.start[n] === problem.needs.start[n + 1]) ready.push(n);
  }
  const criteria = criteriaOf(project, problem, levels, ready);
  const order = sorted(criteria, ready.length);
  return order.map((place, at) => {
    const n = ready[place] as number;
    const next = order[at + 1];
    const decisive = criteria.find(([, values]) => next !== undefined && values[place] !== values[next]);
    const code = decisive?.[0] ?? "only";
    return { n, reason: { code, slack: slackOf(problem, levels, n), holdsUp: holdsUp(problem, levels, n) } };
  });
}

/** Everything in the order in which it would go, were it ready. */
export function wholeOrder(project: Project, problem: Problem, levels: Levels): number[] {
  const all = Array.from({ length: problem.size }, (_, n) => n);
  return sorted(criteriaOf(project, problem, levels, all), problem.size);
}

/** Places among those that the criteria are of. */
function sorted(criteria: readonly Criterion[], size: number): number[] {
  return Array.from({ length: size }, (_, place) => place).sort((a, b) => {
    for (const [, values] of criteria) {
      if (values[a] !== values[b]) return (values[a] as number) - (values[b] as number);
    }
    return 0;
  });
}

function criteriaOf(
  { activities }: Project,
  problem: Problem,
  levels: Levels,
  nodes: readonly number[],
): readonly Criterion[] {
  const { activity } = problem;
  const values = (value: (activity: Activity, n: number) => number): Float64Array => {
    const found = new Float64Array(nodes.length);
    for (const [at, n] of nodes.entries())
      found[at] = value(activities[activity[n] as number] as Activity, n);
    return found;
  };
  return [
    ["starved", values(({ wait }) => (wait === "starved" ? 0 : 1))],
    ["critical-path", values((_, n) => (slackOf(problem, levels, n) === 0 ? 0 : 1))],
    ["priority", values(urgencyOf)],
    ["risk", values(({ risk }) => -RISKS.indexOf(risk))],
    ["holds-up", values((_, n) => -weightOf(problem, levels, n))],
    ["age", values(({ readyForMs = 0 }) => -readyForMs)],
    ["submitted", values((_, n) => activity[n] as number)],
  ];
}
