import { Fragment, useState } from "react";
import type { LimitAnswer } from "../../../../src/protocol/api-schemas.ts";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";
import { ACTIONS, TableHead } from "../../parts/table-head.tsx";
import { LimitForm } from "./limit-form.tsx";
import { rateLimitText } from "./limit-words.ts";
import { ShareBar } from "./share-bar.tsx";

interface LimitsProps {
  readonly limits: readonly LimitAnswer[];
  readonly mayEdit: boolean;
}

/** What tasks share that name it. */
export function Limits({ limits, mayEdit }: LimitsProps) {
  /** "": a new one. */
  const [editing, setEditing] = useState<string>();
  const close = () => setEditing(undefined);
  return (
    <Panel
      title="Limits"
      aside={
        mayEdit && (
          <button type="button" onClick={() => setEditing("")}>
            New limit…
          </button>
        )
      }
    >
      {mayEdit && editing === "" && <LimitForm limit={undefined} onClose={close} />}
      {limits.length === 0 ? (
        <p className="quiet">
          None. Tasks that name one, such as <code>limits: ["openai"]</code>, share it.
        </p>
      ) : (
        <div className="scroll">
          <table className="data queue-table">
            <TableHead columns={["limit", "runs", "starts", ...(mayEdit ? [ACTIONS] : [])]} />
            <tbody>
              {limits.map((limit) => (
                <Fragment key={limit.name}>
                  <tr data-limit={limit.name}>
                    <th scope="row">{limit.name}</th>
                    <td>
                      <ShareBar
                        running={limit.running_count}
                        max={limit.concurrency}
                        label={`${countText(limit.running_count)} run under ${limit.name}`}
                      />
                    </td>
                    <td>{rateLimitText(limit.rate)}</td>
                    {mayEdit && (
                      <td className="number">
                        <button
                          type="button"
                          aria-label={`Edit ${limit.name}`}
                          onClick={() => setEditing(limit.name)}
                        >
                          Edit…
                        </button>
                      </td>
                    )}
                  </tr>
                  {mayEdit && editing === limit.name && (
                    <tr>
                      <td colSpan={4}>
                        <LimitForm limit={limit} onClose={close} />
                      </td>
                    </tr>
                  )}
                </Fragment>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}
