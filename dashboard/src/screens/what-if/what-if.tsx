import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation, useSearch } from "wouter";
import type {
  WhatIfAnswer,
  WhatIfBody,
  WhatIfChange,
  WorkersAnswer,
} from "../../../../src/protocol/api-schemas.ts";
import { useMoment } from "../../api/moment.ts";
import { useCaller, useLook } from "../../api/queries.ts";
import { post, Refused } from "../../api/request.ts";
import { Panel } from "../../parts/panel.tsx";
import { Problem } from "../../parts/problem.tsx";
import { useTitle } from "../../shell/title.ts";
import { ChangeFields } from "./change-fields.tsx";
import { blank, changesIn, type Durations, KINDS, type Kind, withChanges } from "./changes.ts";
import { MovedTasks } from "./moved-tasks.tsx";
import { Scores } from "./scores.tsx";

/** Plays on from a moment with something changed, beside how it goes without. */
export function WhatIf() {
  useTitle("What if");
  const { data: caller } = useCaller();
  if (caller && !caller.scopes.includes("operator"))
    return (
      <p className="quiet">
        What if looks at everything that happened, which needs a key with the scope operator.
      </p>
    );
  return <Question />;
}

function Question() {
  const at = useMoment();
  const search = useSearch();
  const [, navigate] = useLocation();
  const changes = changesIn(search);
  const [durations, setDurations] = useState<Durations>("actual");
  const { data: fleet } = useLook<WorkersAnswer>("workers", "/workers");
  const workers = fleet?.workers.map(({ id }) => id) ?? [];
  const play = useMutation({
    mutationFn: (body: WhatIfBody) => post<WhatIfAnswer>("/what-if", { body }),
  });
  const set = (next: readonly WhatIfChange[]) => {
    play.reset();
    navigate(`/what-if${withChanges(search, next)}`, { replace: true });
  };
  return (
    <div className="what-if">
      <h1>What if</h1>
      <Panel
        title="From this moment on"
        aside={<span className="quiet">{at === undefined ? "now" : `after event ${at}`}</span>}
      >
        <ol className="changes">
          {changes.map((change, place) => (
            // A change has no name: it is its place.
            // biome-ignore lint/suspicious/noArrayIndexKey: as above
            <li key={place}>
              <span className="change-kind">{KINDS[change.kind]}</span>
              <ChangeFields
                change={change}
                workers={workers}
                onChange={(next) => set(changes.with(place, next))}
              />
              <button type="button" className="quiet" onClick={() => set(changes.toSpliced(place, 1))}>
                Remove
              </button>
            </li>
          ))}
          {changes.length === 0 && <li className="quiet">Nothing is changed yet.</li>}
        </ol>
        <div className="what-if-actions">
          <label className="field">
            <span>change</span>
            <select
              value=""
              onChange={({ target }) => set([...changes, blank(target.value as Kind, workers[0] ?? "")])}
            >
              <option value="">Add a change…</option>
              {Object.entries(KINDS).map(([kind, words]) => (
                <option key={kind} value={kind}>
                  {words}
                </option>
              ))}
            </select>
          </label>
          <label className="field">
            <span>attempts take</span>
            <select value={durations} onChange={({ target }) => setDurations(target.value as Durations)}>
              <option value="actual">as long as they did</option>
              <option value="estimated">as long as was estimated</option>
            </select>
          </label>
          <button
            type="button"
            className="primary"
            disabled={play.isPending || changes.length === 0}
            onClick={() => play.mutate({ changes, durations, ...(at !== undefined && { at }) })}
          >
            {play.isPending ? playingText(play.failureReason) : "Play"}
          </button>
        </div>
      </Panel>
      {play.error && <Problem error={play.error} />}
      {play.data && isEmpty(play.data) && (
        <Panel title="How it would go">
          <p>
            Nothing waited or ran at that moment, and nothing came after it. Go back to an earlier one with
            the bar below the header.
          </p>
        </Panel>
      )}
      {play.data && !isEmpty(play.data) && (
        <>
          <Scores answer={play.data} />
          <MovedTasks answer={play.data} />
        </>
      )}
    </div>
  );
}

function isEmpty({ as_is, changed }: WhatIfAnswer): boolean {
  return [as_is, changed].every(({ ended, unfinished }) => ended + unfinished === 0);
}

/** Before anything is played, the ledger is replayed. */
function playingText(reason: Error | null): string {
  const progress = reason instanceof Refused ? reason.progress : undefined;
  return progress === undefined ? "Playing…" : `Replaying, ${Math.floor(100 * progress)} %…`;
}
