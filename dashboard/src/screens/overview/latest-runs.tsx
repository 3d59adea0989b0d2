import { Link } from "wouter";
import type { OverviewAnswer } from "../../../../src/protocol/api-schemas.ts";
import { useRunPages } from "../../api/run-queries.ts";
import { CountsBar } from "../../parts/counts-bar.tsx";
import { bytesText, countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";
import { numbers, TableHead } from "../../parts/table-head.tsx";

const SHOWN = 6;

/** The newest runs, and what those hold and move whose nodes hand data to each other. */
export function LatestRuns({ dataRuns }: { readonly dataRuns: OverviewAnswer["data_runs"] }) {
  const { data: runs = [] } = useRunPages();
  return (
    <Panel title="Runs" aside={<Link href="/runs">all</Link>}>
      {runs.length === 0 ? (
        <p className="quiet">Nobody has submitted a run.</p>
      ) : (
        <table className="data latest-runs">
          <tbody>
            {runs.slice(0, SHOWN).map(({ id, name, nodes, counts }) => (
              <tr key={id}>
                <th scope="row">
                  <Link href={`/runs/${encodeURIComponent(id)}`}>{name}</Link>
                </th>
                <td>
                  {counts ? <CountsBar counts={Object.entries(counts)} /> : `${countText(nodes)} nodes`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {dataRuns.length > 0 && (
        <table className="data" aria-label="Data of runs">
          <TableHead columns={["data of", numbers("on workers"), numbers("moved"), numbers("freed")]} />
          <tbody>
            {dataRuns.map(({ id, name, held_bytes, moved_bytes, freed_bytes }) => (
              <tr key={id}>
                <th scope="row">
                  <Link href={`/runs/${encodeURIComponent(id)}`}>{name}</Link>
                </th>
                <td className="number">{bytesText(held_bytes)}</td>
                <td className="number">{bytesText(moved_bytes)}</td>
                <td className="number">{bytesText(freed_bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
