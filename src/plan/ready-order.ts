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
  const criteria = criteriaOf(project, problem, levels);
  const ready: number[] = [];
  for (let n = problem.running; n < problem.size; n++) {
    if (problem.needs.start[n] === problem.needs.start[n + 1]) ready.push(n);
  }
  return sorted(ready, criteria).map((n, at) => {
    const next = ready[at + 1];
    const decisive = criteria.find(([, values]) => next !== undefined && values[n] !== values[next]);
    const code = decisive?.[0] ?? "only";
    return { n, reason: { code, slack: slackOf(problem, levels, n), holdsUp: holdsUp(problem, levels, n) } };
  });
}

/** Everything in the order in which it would go, were it ready. */
export function wholeOrder(project: Project, problem: Problem, levels: Levels): number[] {
  const all = Array.from({ length: problem.size }, (_, n) => n);
  return sorted(all, criteriaOf(project, problem, levels));
}

function sorted(nodes: number[], criteria: readonly Criterion[]): number[] {
  return nodes.sort((a, b) => {
    for (const [, values] of criteria) {
      if (values[a] !== values[b]) return (values[a] as number) - (values[b] as number);
    }
    return 0;
  });
}

function criteriaOf({ activities }: Project, problem: Problem, levels: Levels): readonly Criterion[] {
  const { activity } = problem;
  const values = (value: (activity: Activity, n: number) => number): Float64Array =>
    Float64Array.from(activity, (index, n) => value(activities[index] as Activity, n));
  return [
    ["starved", values(({ wait }) => (wait === "starved" ? 0 : 1))],
    ["critical-path", values((_, n) => (slackOf(problem, levels, n) === 0 ? 0 : 1))],
    ["priority", values(urgencyOf)],
    ["risk", values(({ risk }) => -RISKS.indexOf(risk))],
    ["holds-up", values((_, n) => -weightOf(problem, levels, n))],
    ["age", values(({ readyForMs = 0 }) => -readyForMs)],
    ["submitted", Float64Array.from(activity)],
  ];
}
