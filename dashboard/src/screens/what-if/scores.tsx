import type { WhatIfAnswer } from "../../../../src/protocol/api-schemas.ts";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";
import { TableHead } from "../../parts/table-head.tsx";
import { spanText } from "../../time/spans.ts";

type Score = WhatIfAnswer["changed"];

interface Measure {
  readonly name: string;
  readonly of: (score: Score) => number;
  readonly text: (value: number) => string;
  /** Undefined: neither is better. */
  readonly isMoreBetter?: boolean;
}

const seconds = (value: number) => spanText(1000 * value);
const share = (value: number) => `${(100 * value).toFixed(1)} %`;

const MEASURES: readonly Measure[] = [
  { name: "all is done after", of: ({ makespan }) => makespan, text: seconds, isMoreBetter: false },
  { name: "wait, half of them up to", of: ({ wait }) => wait.p50, text: seconds, isMoreBetter: false },
  { name: "wait, 95 of 100 up to", of: ({ wait }) => wait.p95, text: seconds, isMoreBetter: false },
  { name: "longest wait", of: ({ wait }) => wait.max, text: seconds, isMoreBetter: false },
  { name: "use of slots", of: ({ utilisation }) => utilisation, text: share },
  { name: "fairness between agents", of: ({ fairness }) => fairness, text: share, isMoreBetter: true },
  { name: "ended", of: ({ ended }) => ended, text: countText, isMoreBetter: true },
  { name: "not ended", of: ({ unfinished }) => unfinished, text: countText, isMoreBetter: false },
];

/** How it goes, and how it would. */
export function Scores({ answer }: { readonly answer: WhatIfAnswer }) {
  const { as_is, changed, is_whole, left_out } = answer;
  const missing = Object.entries(left_out);
  return (
    <Panel title="How it would go">
      <table className="data scores">
        <TableHead columns={["measure", "as it is", "changed", "difference"]} />
        <tbody>
          {MEASURES.map((measure) => (
            <Row
              key={measure.name}
              measure={measure}
              before={measure.of(as_is)}
              after={measure.of(changed)}
            />
          ))}
          {agentsOf(as_is, changed).map(({ agent, before, after }) => (
            <Row
              key={`agent ${agent}`}
              measure={{ name: `mean wait of ${agent}`, of: () => 0, text: seconds, isMoreBetter: false }}
              before={before}
              after={after}
            />
          ))}
        </tbody>
      </table>
      {!is_whole && <p className="quiet">There was too much to play all of it: this is the first part.</p>}
      {missing.length > 0 && (
        <p className="quiet">
          Not played: {missing.map(([kind, count]) => `${countText(count)} × ${kind}`).join(", ")}.
        </p>
      )}
    </Panel>
  );
}

/** With several agents, how each of them fares. */
function agentsOf(before: Score, after: Score) {
  const waits = new Map(after.agents.map(({ agent, mean_wait }) => [agent, mean_wait]));
  const both = before.agents.flatMap(({ agent, mean_wait }) => {
    const changed = waits.get(agent);
    return changed === undefined ? [] : [{ agent, before: mean_wait, after: changed }];
  });
  return both.length > 1 ? both.slice(0, 20) : [];
}

interface RowProps {
  readonly measure: Measure;
  readonly before: number;
  readonly after: number;
}

function Row({ measure: { name, text, isMoreBetter }, before, after }: RowProps) {
  const difference = after - before;
  const isBetter =
    difference === 0 || isMoreBetter === undefined ? undefined : difference > 0 === isMoreBetter;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{text(before)}</td>
      <td>{text(after)}</td>
      <td className="difference" data-better={isBetter}>
        {differenceText(difference, text)}
        {isBetter !== undefined && (
          <span className="visually-hidden">{isBetter ? " (better)" : " (worse)"}</span>
        )}
      </td>
    </tr>
  );
}

function differenceText(difference: number, text: Measure["text"]): string {
  if (difference === 0) return "—";
  return `${difference < 0 ? "▼" : "▲"} ${text(Math.abs(difference))}`;
}
