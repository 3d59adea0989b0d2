import { type KeyboardEvent, useCallback, useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";
import type { WorkerAnswer } from "../../../../src/protocol/api-schemas.ts";
import type { Attempt, Attempts } from "../../api/attempts.ts";
import { useKept } from "../../parts/kept.ts";
import { Panel } from "../../parts/panel.tsx";
import { Picture, type Size } from "../../parts/picture/picture.tsx";
import { AXIS_PX } from "../../parts/picture/time-axis.ts";
import { ZoomButtons, zoomKey } from "../../parts/picture/zoom-buttons.tsx";
import { spanText } from "../../time/spans.ts";
import { timeMode } from "../../time/time.tsx";
import { attemptName, tookText } from "./attempt-words.ts";
import { StreamLegend } from "./stream-legend.tsx";
import { attemptAt, paintStream, ROW_PX, type StreamView } from "./stream-paint.ts";
import { streamRows } from "./stream-rows.ts";
import { StreamTable } from "./stream-table.tsx";
import { useStreamView } from "./stream-view.ts";
import { placesOf } from "./type-colours.ts";

interface TaskStreamProps {
  readonly attempts: Attempts;
  /** All of them: a task type has the same colour wherever it is shown. */
  readonly workers: readonly WorkerAnswer[];
  /** The id of the one that is looked at; undefined: all. */
  readonly only?: string;
}

const MOST_PX = 420;
const STATES = { live: "● live", paused: "‖ paused", past: "◷ as it was" } as const;
/** By how much arrows move it. */
const PANS: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [120, 0],
  ArrowRight: [-120, 0],
  ArrowUp: [0, ROW_PX],
  ArrowDown: [0, -ROW_PX],
};

/** What each slot of each worker did and does, as it happens. */
export function TaskStream({ attempts, workers, only }: TaskStreamProps) {
  const [, navigate] = useLocation();
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  const [isTable, setTable] = useState(false);
  const [hovered, setHovered] = useState<{ attempt: Attempt; x: number; y: number }>();
  const places = useMemo(
    () =>
      placesOf([
        ...workers.flatMap(({ task_types }) => task_types),
        ...attempts.rows.flatMap(({ type, task }) => (task === null ? [] : type)),
      ]),
    [workers, attempts.rows],
  );
  const known = useMemo(
    () => attempts.rows.filter(({ worker }) => only === undefined || worker === only),
    [attempts.rows, only],
  );
  const rows = useMemo(
    () =>
      streamRows(
        workers.filter(({ id }) => only === undefined || id === only),
        known,
      ),
    [workers, known, only],
  );
  const stream = useStreamView(attempts, size, rows.length * ROW_PX);
  const mode = useKept(timeMode);
  const { scale, top, now } = stream;
  const view = useMemo<StreamView>(
    () => ({ scale, top, now, mode, places, knownFrom: attempts.from, height: size.height }),
    [scale, top, now, mode, places, attempts.from, size.height],
  );
  const paint = useCallback<React.ComponentProps<typeof Picture>["paint"]>(
    (pen, _, palette) => paintStream(pen, rows, view, palette),
    [rows, view],
  );
  useEffect(() => {
    if (isTable) setHovered(undefined);
  }, [isTable]);
  const onKeyDown = (event: KeyboardEvent) => {
    const [byX = 0, byY = 0] = PANS[event.key] ?? [];
    if (byX !== 0 || byY !== 0) stream.pan(byX, byY);
    else if (event.key === " ") stream.setPaused(stream.state === "live");
    else if (!zoomKey(event.key, { onZoom: stream.zoom, onFit: stream.showLatest })) return;
    event.preventDefault();
  };
  const at = (x: number, y: number) => attemptAt(rows, view, x, y);
  // To the second: what is said of it need not change ten times in one.
  const [from, to] = [Math.floor(scale.from / 1000) * 1000, Math.ceil(scale.to / 1000) * 1000];
  const inView = useMemo(
    () => known.filter(({ assigned, ended }) => assigned <= to && (ended ?? to) >= from),
    [known, from, to],
  );
  return (
    <Panel
      title="Task stream"
      className="stream"
      aside={
        <div className="stream-controls">
          <span className="quiet" role="status" data-stream={stream.state}>
            {STATES[stream.state]}, {spanText(scale.to - scale.from)}
          </span>
          {stream.state !== "past" && (
            <button type="button" onClick={() => stream.setPaused(stream.state === "live")}>
              {stream.state === "live" ? "Pause" : "Go on"}
            </button>
          )}
          <ZoomButtons onZoom={stream.zoom} onFit={stream.showLatest} />
          <button type="button" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
            Table
          </button>
        </div>
      }
    >
      {isTable ? (
        <StreamTable attempts={inView} now={now} />
      ) : (
        <div
          className="stream-picture"
          style={{ height: Math.min(MOST_PX, AXIS_PX + Math.max(3, rows.length) * ROW_PX + 4) }}
        >
          <Picture
            label={`What ${rows.length} slots of workers did; the same is in the table`}
            name="stream"
            paint={paint}
            onSize={setSize}
            onKeyDown={onKeyDown}
            onPan={stream.pan}
            onZoom={stream.zoom}
            onHover={(place) => {
              const attempt = place && at(...place);
              setHovered(attempt && place && { attempt, x: place[0], y: place[1] });
            }}
            onPick={(x, y) => {
              const task = at(x, y)?.task;
              if (task) navigate(`/tasks/${task}`);
            }}
          />
          {hovered && (
            <div
              className="stream-hover"
              style={{ left: Math.min(hovered.x + 12, Math.max(0, size.width - 260)), top: hovered.y + 14 }}
            >
              <b>{attemptName(hovered.attempt)}</b>
              <span>{hovered.attempt.outcome}</span>
              <span className="quiet">
                {tookText(hovered.attempt, now)} on {hovered.attempt.worker}, slot {hovered.attempt.lane + 1}
              </span>
              {hovered.attempt.transfers.length > 0 && (
                <span className="quiet">
                  {hovered.attempt.transfers.length} brought from{" "}
                  {[...new Set(hovered.attempt.transfers.map(({ from }) => from))].join(", ")}
                </span>
              )}
            </div>
          )}
          {rows.length === 0 && <p className="quiet stream-empty">No worker has done anything yet.</p>}
        </div>
      )}
      <StreamLegend attempts={inView} places={places} />
    </Panel>
  );
}
