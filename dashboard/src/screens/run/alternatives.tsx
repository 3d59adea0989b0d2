import { Link } from "wouter";
import type { TaskAnswer } from "../../../../src/protocol/api-schemas.ts";
import { numbers, TableHead } from "../../parts/table-head.tsx";

type Speculation = NonNullable<TaskAnswer["speculation"]>;

const PARTS = ["verification", "confidence", "size", "risk", "speed"] as const;
const COLUMNS = [
  "way",
  ...PARTS.map((part) => ({ ...numbers(`${part.slice(0, 4)}.`), title: part })),
  numbers("score"),
];

/** The ways in which a node is tried at once, with what each was worth and which was taken. */
export function Alternatives({
  speculation: { alternatives, winner, decided_by },
}: {
  readonly speculation: Speculation;
}) {
  return (
    <>
      <h3>Tried in {alternatives.length} ways</h3>
      <p className="quiet">
        {winner === null
          ? decided_by === "nobody"
            ? "Nobody won: a person has to look."
            : "There was no vote yet."
          : `${shortTag(winner)} was taken, by ${decided_by}.`}
      </p>
      <table className="data alternatives">
        <TableHead columns={COLUMNS} />
        <tbody>
          {alternatives.map(({ task_id, tag, open, score }) => (
            <tr key={tag} data-winner={tag === winner || undefined}>
              <th scope="row">
                <Link href={`/tasks/${task_id}`}>{shortTag(tag)}</Link>
                {tag === winner && " ✓"}
                {open && " ▶"}
              </th>
              {PARTS.map((part) => (
                <td key={part} className="number">
                  {score?.[part] ?? "–"}
                </td>
              ))}
              <td className="number">
                <b>{score?.total ?? "–"}</b>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function shortTag(tag: string): string {
  return tag.replace("speculate:", "");
}
