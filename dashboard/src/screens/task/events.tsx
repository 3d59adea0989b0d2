import { useHistory } from "../../api/queries.ts";
import { Problem } from "../../parts/problem.tsx";
import { Time } from "../../time/time.tsx";

/** What the ledger recorded about the task, as far as the server remembers. */
export function Events({ id }: { readonly id: string }) {
  const { data, error, refetch } = useHistory(id);
  if (error && !data) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <p className="quiet">Looking…</p>;
  if (data.events.length === 0)
    return (
      <p className="quiet">
        The server remembers no event of it; the ledger has them all: orrery ledger FILE.
      </p>
    );
  return (
    <section className="panel scroll" aria-label="Events">
      <table className="data events">
        <tbody>
          {data.events.map(({ id: place, kind, at, data: said }) => (
            <tr key={place}>
              <td>
                <Time at={at} />
              </td>
              <th scope="row">{kind}</th>
              <td className="mono">{Object.keys(said).length > 0 && JSON.stringify(said)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
