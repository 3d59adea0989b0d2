import { useState } from "react";
import { Link } from "wouter";
import type { ChangeAnswer, WhyAnswer } from "../../../../src/protocol/api-schemas.ts";
import { canMake, make } from "../../api/changes.ts";
import { useMoment } from "../../api/moment.ts";
import { useCaller } from "../../api/queries.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { countText } from "../../parts/numbers.ts";
import { spanText } from "../../time/spans.ts";

type Sooner = WhyAnswer["sooner"][number];

/** What would make it start sooner, the best first, and what of that can be done here. */
export function SoonerList({ why: { sooner, forecast } }: { readonly why: WhyAnswer }) {
  const { data: caller } = useCaller();
  const isNow = useMoment() === undefined;
  const [chosen, setChosen] = useState<Sooner>();
  if (sooner.length === 0) return null;
  const scopes = caller?.scopes ?? [];
  return (
    <>
      <h3>It would start {forecast === null ? "" : "sooner "}if</h3>
      <ul className="sooner">
        {sooner.map((one) => (
          <li key={one.text} data-change={one.change.kind}>
            <span className="sooner-what">
              {one.text}
              {"task_id" in one.change && (
                <>
                  {" "}
                  <Link href={`/tasks/${one.change.task_id}`}>see it</Link>
                </>
              )}
            </span>
            <span className="sooner-when">{startText(one, forecast)}</span>
            {isNow && canMake(one.change, scopes) && (
              <button type="button" onClick={() => setChosen(one)}>
                {BUTTONS[one.change.kind]}…
              </button>
            )}
          </li>
        ))}
      </ul>
      {chosen && (
        <ConfirmDialog
          question={doneTexts(chosen.change).join(" ")}
          confirm={BUTTONS[chosen.change.kind]}
          isDanger={chosen.change.kind === "cancel"}
          onConfirm={() => make(chosen.change)}
          onClose={() => setChosen(undefined)}
        >
          <p>The task should then start {startText(chosen, forecast)}.</p>
        </ConfirmDialog>
      )}
    </>
  );
}

function startText({ starts_in }: Sooner, forecast: WhyAnswer["forecast"]): string {
  const gained = forecast === null ? 0 : forecast.starts_in - starts_in;
  const start = starts_in === 0 ? "at once" : `in ${spanText(starts_in * 1000)}`;
  return gained > 0 ? `${start}, ${spanText(gained * 1000)} sooner` : start;
}

const BUTTONS: Readonly<Record<ChangeAnswer["kind"], string>> = {
  resume: "Resume",
  "agent-limit": "Raise",
  limit: "Raise",
  rate: "Raise",
  cancel: "Cancel it",
  recharge: "Recharge",
  together: "Do all",
  worker: "",
  priority: "",
  "at-once": "",
};

function doneTexts(change: ChangeAnswer): string[] {
  switch (change.kind) {
    case "resume":
      return change.executors.map((name) =>
        name === "" ? "Resume the whole zone?" : `Resume the executor ${name}?`,
      );
    case "agent-limit":
      return [`Let the agent ${change.agent} run ${change.to} tasks at once, not ${change.from}?`];
    case "limit":
      return [`Let ${change.to} run at once under the limit ${change.limit}, not ${change.from}?`];
    case "rate":
      return [
        `Let ${change.to} start every ${spanText(change.per_seconds * 1000)} under the limit ${change.limit}, not ${change.from}?`,
      ];
    case "cancel":
      return [`Cancel ${change.node ?? `the task ${change.task_id}`}?`];
    case "recharge":
      return [
        `Give ${change.node ?? `the task ${change.task_id}`} ${countText(change.amount)} more of ${change.part}?`,
      ];
    case "together":
      return change.changes.flatMap(doneTexts);
    case "worker":
    case "priority":
    case "at-once":
      return [];
  }
}
