import { useMemo, useState } from "react";
import { Link } from "wouter";
import { LongTable, type RowPlace, useLongRows } from "../../parts/long-table.tsx";
import { Status } from "../../parts/status.tsx";
import { spanText } from "../../time/spans.ts";
import { Time } from "../../time/time.tsx";
import { type RunModel, ranMsOf, readyAtOf } from "./model.ts";
import { COLUMNS, type ColumnName, sortedNodes } from "./node-order.ts";
import { estimateMsOf, typeOf } from "./shape.ts";
import { statusOf } from "./standing.ts";

interface NodeTableProps {
  readonly model: RunModel;
  readonly now: number;
  readonly selected: number | undefined;
  readonly onSelect: (node: number) => void;
}

const ROW_PX = 34;

/** All nodes of a run. */
export function NodeTable({ model, now, selected, onSelect }: NodeTableProps) {
  const [by, setBy] = useState<ColumnName>("started");
  const [isDown, setDown] = useState(false);
  const nodes = useMemo(() => sortedNodes(model, by, isDown), [model, by, isDown]);
  const rows = useLongRows(nodes, ROW_PX);
  const sort = (name: ColumnName) => {
    setDown(name === by && !isDown);
    setBy(name);
  };
  return (
    <div>
      <p className="quiet">
        The same tasks,{" "}
        <Link href={`/tasks?filter=${encodeURIComponent(`run:${model.run.id}`)}`}>to be filtered</Link>.
      </p>
      <LongTable
        label="Nodes"
        className="node-table"
        head={<SortHead by={by} isDown={isDown} onSort={sort} />}
        rows={rows}
      >
        {(node, place) => (
          <NodeRow
            key={node}
            model={model}
            now={now}
            node={node}
            place={place}
            isSelected={node === selected}
            onSelect={onSelect}
          />
        )}
      </LongTable>
    </div>
  );
}

interface SortHeadProps {
  readonly by: ColumnName;
  readonly isDown: boolean;
  readonly onSort: (name: ColumnName) => void;
}

function SortHead({ by, isDown, onSort }: SortHeadProps) {
  return (
    <thead>
      <tr>
        {COLUMNS.map((name) => (
          <th key={name} scope="col" aria-sort={name === by ? (isDown ? "descending" : "ascending") : "none"}>
            <button type="button" onClick={() => onSort(name)}>
              {name}
              {name === by && <span aria-hidden="true">{isDown ? " ↓" : " ↑"}</span>}
            </button>
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface NodeRowProps {
  readonly model: RunModel;
  readonly now: number;
  readonly node: number;
  readonly place: RowPlace;
  readonly isSelected: boolean;
  readonly onSelect: (node: number) => void;
}

function NodeRow({ model, now, node, place, isSelected, onSelect }: NodeRowProps) {
  const { shape, standing, submittedAt } = model;
  const started = standing.started[node] as number;
  const readyAt = readyAtOf(model, node);
  const waitedTo =
    started >= 0 ? started : (standing.ended[node] as number) >= 0 ? (standing.ended[node] as number) : now;
  const ran = ranMsOf(model, node, now);
  return (
    <tr {...place} data-row={shape.ids[node]} data-selected={isSelected || undefined}>
      <td>
        <Status name={statusOf(standing, node)} />
      </td>
      <td className="node-name">
        <button type="button" onClick={() => onSelect(node)}>
          {shape.ids[node]}
        </button>
        {model.isCritical[node] === 1 && (
          <span className="critical-mark" title="holds up the end">
            <span className="visually-hidden">holds up the end</span>
          </span>
        )}
      </td>
      <td>{typeOf(shape, node)}</td>
      <td>{started >= 0 ? <Time at={new Date(submittedAt + started).toISOString()} /> : "–"}</td>
      <td className="number">{readyAt === undefined ? "–" : spanText(waitedTo - readyAt)}</td>
      <td className="number">{ran === undefined ? "–" : spanText(ran)}</td>
      <td className="number">{spanText(estimateMsOf(shape, node))}</td>
      <td className="node-end">{standing.workers[standing.worker[node] ?? -1] ?? "–"}</td>
    </tr>
  );
}
