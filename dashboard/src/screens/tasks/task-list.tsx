import { useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import type { TaskSummary } from "../../../../src/protocol/api-schemas.ts";
import type { TaskAction } from "../../api/task-actions.ts";
import type { TaskPages } from "../../api/task-pages.ts";
import { useEndlessRows } from "../../parts/endless-rows.ts";
import { useShortcuts } from "../../shell/shortcuts.ts";
import { TaskRow } from "./task-row.tsx";

interface TaskListProps {
  readonly pages: TaskPages;
  readonly tasks: readonly TaskSummary[];
  readonly onAct: (action: TaskAction, ids: readonly string[]) => void;
}

const ROW_PX = 34;
const COLUMNS = ["status", "task", "agent", "class", "submitted", "waited", "ran", "worker or error"];

/** As many rows as are seen, however many there are; what is scrolled to is asked for. */
export function TaskList({ pages, tasks, onAct }: TaskListProps) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const { list, rows, items } = useEndlessRows(tasks.length, ROW_PX, pages);
  const { hasNextPage, isFetching } = pages;
  const toggle = (id: string) =>
    setSelected((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  const current = useListKeys(tasks, selected, toggle, onAct, (index) => rows.scrollToIndex(index));
  return (
    <div className="task-list">
      <table aria-label="Tasks" aria-rowcount={tasks.length}>
        <thead>
          <tr className="task-row task-head">
            <th className="visually-hidden">selected</th>
            {COLUMNS.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={list} className="task-rows" style={{ height: rows.getTotalSize() }}>
          {items.map(({ index, start }) => {
            const task = tasks[index] as TaskSummary;
            return (
              <TaskRow
                key={task.id}
                task={task}
                index={index}
                top={start - rows.options.scrollMargin}
                isCurrent={task.id === current}
                isSelected={selected.has(task.id)}
                onToggle={() => toggle(task.id)}
              />
            );
          })}
        </tbody>
      </table>
      {tasks.length === 0 && !isFetching && !hasNextPage && <p className="quiet empty">No task fits.</p>}
    </div>
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
