import { useMemo, useState } from "react";
import { isFilterProblem, readFilter } from "../../../../src/protocol/task-filter.ts";
import { useBarrier } from "../../api/barrier.ts";
import type { TaskAction } from "../../api/task-actions.ts";
import { useTaskPages } from "../../api/task-pages.ts";
import { useAddress } from "../../parts/address.ts";
import { countText } from "../../parts/numbers.ts";
import { Problem } from "../../parts/problem.tsx";
import { useTitle } from "../../shell/title.ts";
import { ActDialog } from "./act-dialog.tsx";
import { BulkDialog } from "./bulk-dialog.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { TaskList } from "./task-list.tsx";

type Doing = { readonly action: TaskAction; readonly ids: readonly string[] | "all" } | undefined;

/** Tasks by a filter that the URL holds, and what can be done to them, one by one or to all that fit. */
export function Tasks() {
  useTitle("Tasks");
  const [params, change] = useAddress();
  const filter = params.get("filter") ?? "";
  const isReadable = useMemo(() => !isFilterProblem(readFilter(filter)), [filter]);
  const pages = useTaskPages(filter, isReadable);
  const why = useBarrier();
  const [doing, setDoing] = useState<Doing>();
  const tasks = pages.data ?? [];
  const close = () => setDoing(undefined);
  return (
    <div className="tasks">
      <h1 className="visually-hidden">Tasks</h1>
      <FilterBar filter={filter} tasks={tasks} onChange={(text) => change("filter", text)} />
      <div className="tasks-bar">
        <span className="quiet" role="status">
          {pages.isPending && isReadable
            ? "Looking…"
            : `${countText(tasks.length)}${pages.hasNextPage ? "+" : ""} tasks`}
          {pages.isFetchingNextPage && ", looking for more…"}
        </span>
        <span className="spacer" />
        <button
          type="button"
          disabled={why !== undefined}
          title={why}
          onClick={() => setDoing({ action: "retry", ids: "all" })}
        >
          Retry all<span className="unless-narrow"> matching</span>…
        </button>
        <button
          type="button"
          className="danger"
          disabled={why !== undefined}
          title={why}
          onClick={() => setDoing({ action: "cancel", ids: "all" })}
        >
          Cancel all<span className="unless-narrow"> matching</span>…
        </button>
      </div>
      {pages.error && <Problem error={pages.error} onRetry={() => void pages.refetch()} />}
      <TaskList
        pages={pages}
        tasks={tasks}
        onAct={(action, ids) => why === undefined && setDoing({ action, ids })}
      />
      {doing?.ids === "all" && <BulkDialog action={doing.action} filter={filter} onClose={close} />}
      {doing && doing.ids !== "all" && <ActDialog action={doing.action} ids={doing.ids} onClose={close} />}
    </div>
  );
}
