import { useState } from "react";
import { seqAt } from "../api/past-queries.ts";
import { momentOf } from "./moment-text.ts";

interface JumpProps {
  readonly onJump: (seq: number) => void;
}

/** Goes to an event by its number, or to what was at a time. */
export function Jump({ onJump }: JumpProps) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const jump = async () => {
    const moment = momentOf(text, new Date());
    setProblem(moment === undefined ? "an event's number, or a time such as 14:30:00" : "");
    if (moment === undefined) return;
    try {
      onJump(typeof moment === "number" ? moment : await seqAt(moment));
      setText("");
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <form
      className="past-jump"
      onSubmit={(event) => {
        event.preventDefault();
        void jump();
      }}
    >
      <input
        value={text}
        onChange={({ target }) => setText(target.value)}
        placeholder="event or time"
        aria-label="Go to an event or a time"
        aria-invalid={problem !== ""}
        title={problem || "An event's number, or a time such as 14:30:00 or 2026-03-01 14:30"}
      />
    </form>
  );
}
