import { useEffect, useMemo, useState } from "react";
import { useRoute } from "wouter";
import { useMoment } from "../api/moment.ts";
import { nextAbout, useEventAt, useMoments } from "../api/past-queries.ts";
import { useMay } from "../api/queries.ts";
import { Refused } from "../api/request.ts";
import { countText } from "../parts/numbers.ts";
import { useShortcuts } from "../shell/shortcuts.ts";
import { standAt } from "../time/clock.ts";
import { clockText } from "../time/time.tsx";
import { Activity } from "./activity.tsx";
import { Jump } from "./jump.tsx";
import { SPEEDS, type Speed, usePlay } from "./play.ts";
import { useScrub } from "./scrub.ts";

const LONG_STEP = 100;

/** All that was, as a line to move along: everything else on the page follows it. */
export function PastBar({ onClose }: { readonly onClose: () => void }) {
  const at = useMoment();
  const mayLook = useMay("operator");
  const moments = useMoments();
  const last = moments.data?.last.seq ?? at ?? 0;
  const { wanted, go, backToNow } = useScrub(last);
  const [speed, setSpeed] = useState<Speed>("10");
  const play = usePlay(moments.data, wanted, speed, go);
  const { data: event } = useEventAt(at);
  useEffect(() => {
    standAt(at === undefined || !event ? undefined : Date.parse(event.at));
    return () => standAt(undefined);
  }, [at, event]);
  const here = wanted ?? last;
  useStepKeys(here, go);
  const close = () => {
    backToNow();
    onClose();
  };
  return (
    <section className="past-bar" aria-label="The past" data-past={at === undefined ? undefined : ""}>
      <div className="past-controls">
        <button
          type="button"
          className="icon-button"
          onClick={play.toggle}
          disabled={!moments.data}
          aria-label={play.isPlaying ? "Pause" : "Play"}
          title={play.isPlaying ? "Pause" : "Let it go on by itself"}
        >
          {play.isPlaying ? "‖" : "▷"}
        </button>
        <select
          value={speed}
          onChange={({ target }) => setSpeed(target.value as Speed)}
          aria-label="Speed"
          title="How fast it goes on"
        >
          {SPEEDS.map((one) => (
            <option key={one} value={one}>
              {one === "max" ? "max" : `${one}×`}
            </option>
          ))}
        </select>
        <StepButton sign="‹" name="One event back" keys="[" onStep={() => go(here - 1)} />
        <StepButton sign="›" name="One event on" keys="]" onStep={() => go(here + 1)} />
        <TaskSteps here={here} go={go} />
      </div>
      <div className="past-line">
        {moments.data && <Activity moments={moments.data} />}
        <input
          type="range"
          min={0}
          max={Math.max(1, last)}
          value={here}
          disabled={!moments.data}
          onChange={({ target }) => go(Number(target.value))}
          onKeyDown={(key) => {
            const step = { ArrowLeft: -LONG_STEP, ArrowRight: LONG_STEP }[key.key];
            if (!key.shiftKey || step === undefined) return;
            key.preventDefault();
            go(here + step);
          }}
          aria-label="Moment of the ledger"
          aria-valuetext={wanted === undefined ? "now" : `event ${wanted}`}
        />
      </div>
      <p className="past-words" role="status">
        <Words
          at={at}
          last={last}
          event={event ?? undefined}
          failure={moments.failureReason}
          mayLook={mayLook}
        />
      </p>
      <div className="past-controls">
        <Jump onJump={go} />
        <button type="button" onClick={backToNow} disabled={wanted === undefined} data-action="now">
          Back to now
        </button>
        <StepButton sign="✕" name="Close the past" onStep={close} />
      </div>
    </section>
  );
}

interface WordsProps {
  readonly at: number | undefined;
  readonly last: number;
  readonly event: { readonly at: string; readonly kind: string } | undefined;
  readonly failure: Error | null;
  readonly mayLook: boolean;
}

function Words({ at, last, event, failure, mayLook }: WordsProps) {
  if (failure instanceof Refused && failure.progress !== undefined)
    return (
      <>
        <progress value={failure.progress} /> Replaying the ledger, {Math.floor(failure.progress * 100)} %
      </>
    );
  if (failure)
    return (
      <span className="failed">{mayLook ? failure.message : "Only operators can look at the past."}</span>
    );
  if (at === undefined)
    return (
      <>
        <b>now</b>, event {countText(last)}
      </>
    );
  return (
    <>
      as of <b>{event ? clockText(event.at) : "…"}</b>, event {countText(at)}
      {event && <span className="past-kind">{event.kind}</span>}
    </>
  );
}

/** On the page of a task: to what happened to it before and next. */
function TaskSteps({ here, go }: { readonly here: number; readonly go: (seq: number) => void }) {
  const [isTask, params] = useRoute("/tasks/:id");
  if (!isTask) return null;
  const step = async (isLater: boolean) => {
    const seq = await nextAbout(params.id, here, isLater);
    if (seq !== undefined) go(seq);
  };
  return (
    <>
      <StepButton sign="«" name="To what happened to this task before" onStep={() => void step(false)} />
      <StepButton sign="»" name="To what happened to this task next" onStep={() => void step(true)} />
    </>
  );
}

interface StepButtonProps {
  readonly sign: string;
  readonly name: string;
  /** That does the same. */
  readonly keys?: string;
  readonly onStep: () => void;
}

function StepButton({ sign, name, keys, onStep }: StepButtonProps) {
  const title = keys === undefined ? name : `${name} (${keys})`;
  return (
    <button type="button" className="icon-button" onClick={onStep} aria-label={name} title={title}>
      {sign}
    </button>
  );
}

function useStepKeys(here: number, go: (seq: number) => void): void {
  const shortcuts = useMemo(
    () => [
      { keys: "[", does: "one event back", run: () => go(here - 1) },
      { keys: "]", does: "one event on", run: () => go(here + 1) },
      { keys: "{", does: "100 events back", run: () => go(here - LONG_STEP) },
      { keys: "}", does: "100 events on", run: () => go(here + LONG_STEP) },
    ],
    [here, go],
  );
  useShortcuts(shortcuts);
}
