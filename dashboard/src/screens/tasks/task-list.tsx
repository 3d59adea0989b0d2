import { useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import type { TaskSummary } from "../../../../src/protocol/api-schemas.ts";
import type { TaskAction } from "../../api/task-actions.ts";
import type { TaskPages } from "../../api/task-pages.ts";
import { LongTable, useLongRows } from "../../parts/long-table.tsx";
import { numbers, TableHead } from "../../parts/table-head.tsx";
import { useShortcuts } from "../../shell/shortcuts.ts";
import { TaskRow } from "./task-row.tsx";

interface TaskListProps {
  readonly pages: TaskPages;
  readonly tasks: readonly TaskSummary[];
  readonly onAct: (action: TaskAction, ids: readonly string[]) => void;
}

const ROW_PX = 34;
const COLUMNS = [
  { name: "selected", isUnseen: true },
  "status",
  "task",
  "agent",
  "class",
  "submitted",
  numbers("waited"),
  numbers("ran"),
  "worker or error",
];

export function TaskList({ pages, tasks, onAct }: TaskListProps) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const rows = useLongRows(tasks, ROW_PX, pages);
  const toggle = (id: string) =>
    setSelected((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  const current = useListKeys(tasks, selected, toggle, onAct, (index) => rows.virtual.scrollToIndex(index));
  return (
    <LongTable
      label="Tasks"
      className="task-list"
      head={<TableHead columns={COLUMNS} />}
      rows={rows}
      empty="No task fits."
    >
      {(task, place) => (
        <TaskRow
          key={task.id}
          task={task}
          place={place}
          isCurrent={task.id === current}
          isSelected={selected.has(task.id)}
          onToggle={() => toggle(task.id)}
        />
      )}
    </LongTable>
  );
}

/** The row that keys act on, by its task: rows move when others come. */
function useListKeys(
  tasks: readonly TaskSummary[],
  selected: ReadonlySet<string>,
  toggle: (id: string) => void,
  onAct: TaskListProps["onAct"],
  onMove: (index: number) => void,
): string | undefined {
  const [current, setCurrent] = useState<string>();
  const [, navigate] = useLocation();
  const latest = useRef({ tasks, selected, toggle, onAct, onMove, current });
  latest.current = { tasks, selected, toggle, onAct, onMove, current };
  const shortcuts = useMemo(() => {
    const move = (step: number) => {
      const { tasks: all, onMove: show } = latest.current;
      const place = all.findIndex(({ id }) => id === latest.current.current);
      const next = Math.min(Math.max(place + step, 0), all.length - 1);
      setCurrent(all[next]?.id);
      if (next >= 0) show(next);
    };
    const onCurrent = (what: (id: string) => void) => () => {
      if (latest.current.current !== undefined) what(latest.current.current);
    };
    const act = (action: TaskAction) => () => {
      const { selected: chosen, current: id, onAct: start } = latest.current;
      if (chosen.size > 0) start(action, [...chosen]);
      else if (id !== undefined) start(action, [id]);
    };
    return [
      { keys: "j", does: "next task", run: () => move(1) },
      { keys: "k", does: "previous task", run: () => move(-1) },
      { keys: "x", does: "select the task, or not", run: onCurrent((id) => latest.current.toggle(id)) },
      { keys: "Enter", does: "open the task", run: onCurrent((id) => navigate(`/tasks/${id}`)) },
      { keys: "r", does: "retry the selected tasks, or the current one", run: act("retry") },
      { keys: "c", does: "cancel the selected tasks, or the current one", run: act("cancel") },
    ];
  }, [navigate]);
  useShortcuts(shortcuts);
  return current;
}
