import type { TaskAnswer } from "../../../../src/protocol/api-schemas.ts";
import { useTask } from "../../api/queries.ts";
import { useAddress } from "../../parts/address.ts";
import { Problem } from "../../parts/problem.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { useTitle } from "../../shell/title.ts";
import { Budget } from "./budget.tsx";
import { Content } from "./content.tsx";
import { Events } from "./events.tsx";
import { Log } from "./log.tsx";
import { TaskFacts } from "./task-facts.tsx";
import { TaskHead } from "./task-head.tsx";
import { Timeline } from "./timeline.tsx";
import { Why } from "./why.tsx";

const TABS = ["why", "content", "log", "events", "budget"] as const;
type Tab = (typeof TABS)[number];

/** One task: where it is, why, what went in and came out, and what can be done about it. */
export function Task({ id }: { readonly id: string }) {
  const { data: task, error, refetch } = useTask(id);
  const [params, change] = useAddress();
  const tab = TABS.find((name) => name === params.get("tab")) ?? "why";
  useTitle(task ? `${task.task_type} ${task.id.slice(-8)}` : "Task");
  if (error && !task) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!task) return <p className="quiet loading">Looking…</p>;
  const show = (next: Tab) => change("tab", next, { replace: true });
  return (
    <div className="task">
      <TaskHead task={task} />
      <Timeline task={task} />
      <TaskFacts task={task} />
      <Tabs
        names={TABS.filter((name) => name !== "budget" || task.budget !== null)}
        chosen={tab}
        onChoose={show}
      >
        <TabBody tab={tab} task={task} />
      </Tabs>
    </div>
  );
}

function TabBody({ tab, task }: { readonly tab: Tab; readonly task: TaskAnswer }) {
  switch (tab) {
    case "why":
      return <Why task={task} />;
    case "content":
      return <Content task={task} />;
    case "log":
      return <Log task={task} />;
    case "events":
      return <Events id={task.id} />;
    case "budget":
      return <Budget budget={task.budget} />;
  }
}
