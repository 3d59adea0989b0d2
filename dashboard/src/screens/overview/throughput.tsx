import type { OverviewAnswer } from "../../../../src/protocol/api-schemas.ts";
import { rateText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";
import { Sparkline } from "../../parts/sparkline.tsx";
import { spanText } from "../../time/spans.ts";

const KINDS = ["submitted", "started", "ended"] as const;

export function Throughput({ overview }: { readonly overview: OverviewAnswer }) {
  const { per_second, last_minute, wait, commit } = overview;
  return (
    <Panel title="Throughput and waits" aside={<span className="quiet">per second, the last minute</span>}>
      <table className="throughput">
        <tbody>
          {KINDS.map((kind) => (
            <tr key={kind}>
              <th scope="row">{kind}</th>
              <td className="number">{rateText(per_second[kind])}/s</td>
              <td>
                <Sparkline
                  kind={kind}
                  values={last_minute[kind]}
                  label={`${kind} in each second of the last minute, at most ${Math.max(0, ...last_minute[kind])}`}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <dl className="facts">
        <Quantiles name="wait to start" of={wait} />
        <Quantiles name="commit" of={commit} />
      </dl>
    </Panel>
  );
}

function Quantiles({ name, of }: { readonly name: string; readonly of: OverviewAnswer["wait"] }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        p50 <b>{of ? spanText(of.p50 * 1000) : "–"}</b> · p95 <b>{of ? spanText(of.p95 * 1000) : "–"}</b>
      </dd>
    </div>
  );
}
