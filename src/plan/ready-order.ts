import { RISKS } from "../graph/index.ts";
import { holdsUp, slackOf } from "./critical-path.ts";
import type { Levels } from "./levels.ts";
import type { OrderReason } from "./plan.ts";
import type { Problem } from "./problem.ts";
import type { Activity, Project } from "./project.ts";

/** What makes one activity go before another, the first that tells them apart; the smaller value goes first. */
type Criterion = readonly [code: OrderReason["code"], value: (n: number) => number];

/** Everything that could start now by what it needs, in the order in which it goes. */
export function readyOrder(project: Project, problem: Problem, levels: Levels): number[] {
  const ready: number[] = [];
  for (let n = problem.running; n < problem.size; n++) {
    if (problem.needs.start[n] === problem.needs.start[n + 1]) ready.push(n);
  }
  return sorted(ready, criteriaOf(project, problem, levels));
}

/** Everything in the order in which it would go, were it ready. */
export function wholeOrder(project: Project, problem: Problem, levels: Levels): number[] {
  const all = Array.from({ length: problem.size }, (_, n) => n);
  return sorted(all, criteriaOf(project, problem, levels));
}

function sorted(nodes: number[], criteria: readonly Criterion[]): number[] {
  return nodes.sort((a, b) => {
    for (const [, value] of criteria) if (value(a) !== value(b)) return value(a) - value(b);
    return 0;
  });
}

/** Why each of them stands before the next. */
export function reasonsOf(
  project: Project,
  problem: Problem,
  levels: Levels,
  order: readonly number[],
): OrderReason[] {
  const criteria = criteriaOf(project, problem, levels);
  return order.map((n, at) => {
    const next = order[at + 1];
    const decisive = criteria.find(([, value]) => next !== undefined && value(n) !== value(next));
    return {
      code: decisive?.[0] ?? "only",
      slack: slackOf(problem, levels, n),
      holdsUp: holdsUp(problem, levels, n),
    };
  });
}

function criteriaOf({ activities }: Project, problem: Problem, levels: Levels): readonly Criterion[] {
  const { activity } = problem;
  const at = (n: number): Activity => activities[activity[n] as number] as Activity;
  return [
    ["starved", (n) => (at(n).starved ? 0 : 1)],
    ["critical-path", (n) => (slackOf(problem, levels, n) === 0 ? 0 : 1)],
    ["priority", (n) => at(n).priority],
    ["risk", (n) => -RISKS.indexOf(at(n).risk)],
    ["holds-up", (n) => -holdsUp(problem, levels, n)],
    ["age", (n) => -(at(n).readyForMs ?? 0)],
    ["submitted", (n) => activity[n] as number],
  ];
}
