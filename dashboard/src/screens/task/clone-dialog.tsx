import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import type { TaskAnswer } from "../../../../src/protocol/api-schemas.ts";
import { post } from "../../api/request.ts";
import { Dialog } from "../../parts/dialog.tsx";

/** The same task once more, with a payload that can be edited. */
export function CloneDialog({ task, onClose }: { readonly task: TaskAnswer; readonly onClose: () => void }) {
  const [text, setText] = useState(() => JSON.stringify(task.payload, undefined, 2));
  const [problem, setProblem] = useState("");
  const [, navigate] = useLocation();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    try {
      const payload: unknown = JSON.parse(text);
      const made = await post<TaskAnswer>(`/task/${task.id}/clone`, { body: { payload } });
      onClose();
      navigate(`/tasks/${made.id}`);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <Dialog title="Clone the task" onClose={onClose}>
      <form className="clone" onSubmit={(event) => void submit(event)}>
        <h2>Clone {task.task_type}</h2>
        <label>
          Payload
          <textarea
            rows={12}
            spellCheck={false}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        </label>
        <p role="alert" className="problem">
          {problem}
        </p>
        <div className="buttons">
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" className="primary">
            Submit
          </button>
        </div>
      </form>
    </Dialog>
  );
}
