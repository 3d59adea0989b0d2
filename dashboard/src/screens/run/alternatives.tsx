import { Link } from "wouter";
import type { TaskAnswer } from "../../../../src/protocol/api-schemas.ts";

type Speculation = NonNullable<TaskAnswer["speculation"]>;

const PARTS = ["verification", "confidence", "size", "risk", "speed"] as const;

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
        <thead>
          <tr>
            <th scope="col">way</th>
            {PARTS.map((part) => (
              <th key={part} scope="col" className="number" title={part}>
                {part.slice(0, 4)}.
              </th>
            ))}
            <th scope="col" className="number">
              score
            </th>
          </tr>
        </thead>
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
