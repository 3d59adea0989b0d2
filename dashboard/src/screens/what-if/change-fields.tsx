import { useId } from "react";
import type { WhatIfChange } from "../../../../src/protocol/api-schemas.ts";
import type { Kind } from "./changes.ts";

interface Field {
  readonly name: string;
  readonly label: string;
  /** The name of a worker, any text, a number from so many on, or one of these. */
  readonly is: "worker" | "text" | { readonly from: number } | readonly string[];
  /** Nothing at all is a value: no limit, or any. */
  readonly mayBeEmpty?: true;
}

const STRATEGIES = ["round-robin", "least-loaded", "random", "affinity"];
const ORDERS = ["hrrn", "classic", "graph"];
const PRIORITIES = ["critical", "high", "normal", "low", "best_effort"];
const MOST: Field = { name: "max", label: "at once (none)", is: { from: 0 }, mayBeEmpty: true };

/** What a change of its kind needs. */
const FIELDS: Readonly<Record<Kind, readonly Field[]>> = {
  "more-workers": [
    { name: "like", label: "like", is: "worker" },
    { name: "count", label: "how many", is: { from: 1 } },
  ],
  "without-worker": [{ name: "worker", label: "worker", is: "worker" }],
  slots: [
    { name: "worker", label: "worker", is: "worker" },
    { name: "slots", label: "slots", is: { from: 1 } },
  ],
  strategy: [{ name: "strategy", label: "strategy", is: STRATEGIES }],
  order: [{ name: "order", label: "order", is: ORDERS }],
  prefetch: [{ name: "prefetch", label: "tasks", is: { from: 0 } }],
  priority: [
    { name: "type", label: "of type (any)", is: "text", mayBeEmpty: true },
    { name: "agent", label: "of agent (any)", is: "text", mayBeEmpty: true },
    { name: "priority", label: "priority", is: PRIORITIES },
  ],
  "agent-limit": [{ name: "agent", label: "agent", is: "text" }, MOST],
  limit: [{ name: "name", label: "limit", is: "text" }, MOST],
  speculation: [{ name: "ways", label: "ways", is: { from: 0 } }],
};

interface FieldsProps {
  readonly change: WhatIfChange;
  readonly workers: readonly string[];
  readonly onChange: (change: WhatIfChange) => void;
}

export function ChangeFields({ change, workers, onChange }: FieldsProps) {
  const values = change as Readonly<Record<string, unknown>>;
  const set = ({ name, mayBeEmpty }: Field, value: string | number | null) => {
    const { [name]: _, ...others } = values;
    // A text that may be empty is a condition, and none then.
    const isLeftOut = value === "" && mayBeEmpty;
    onChange({ ...others, ...(!isLeftOut && { [name]: value }) } as WhatIfChange);
  };
  const id = useId();
  return FIELDS[change.kind].map((field) => (
    <label key={field.name} className="field" htmlFor={`${id} ${field.name}`}>
      <span>{field.label}</span>
      <Input
        id={`${id} ${field.name}`}
        field={field}
        value={values[field.name]}
        workers={workers}
        onSet={(value) => set(field, value)}
      />
    </label>
  ));
}

interface InputProps {
  readonly id: string;
  readonly field: Field;
  readonly value: unknown;
  readonly workers: readonly string[];
  readonly onSet: (value: string | number | null) => void;
}

function Input({ id, field: { is, mayBeEmpty }, value, workers, onSet }: InputProps) {
  const text = value === null || value === undefined ? "" : String(value);
  if (is === "text")
    return <input id={id} value={text} maxLength={256} onChange={({ target }) => onSet(target.value)} />;
  if (is === "worker" || Array.isArray(is)) {
    const choices: readonly string[] = is === "worker" ? workers : is;
    // What an address names may not be there.
    const all = choices.includes(text) ? choices : [text, ...choices];
    return (
      <select id={id} value={text} onChange={({ target }) => onSet(target.value)}>
        {all.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    );
  }
  const { from } = is as { readonly from: number };
  const read = (typed: string) => (typed === "" ? undefined : Math.max(from, Math.floor(Number(typed))));
  return (
    <input
      id={id}
      type="number"
      inputMode="numeric"
      min={from}
      value={text}
      onChange={({ target }) => onSet(read(target.value) ?? (mayBeEmpty ? null : from))}
    />
  );
}
