import { useId } from "react";
import type { WhatIfChange } from "../../../../src/protocol/api-schemas.ts";

const STRATEGIES = ["round-robin", "least-loaded", "random", "affinity"] as const;
const ORDERS = ["hrrn", "classic", "graph"] as const;
const PRIORITIES = ["critical", "high", "normal", "low", "best_effort"] as const;

interface FieldsProps {
  readonly change: WhatIfChange;
  readonly workers: readonly string[];
  readonly onChange: (change: WhatIfChange) => void;
}

/** What a change of its kind needs. */
export function ChangeFields({ change, workers, onChange }: FieldsProps) {
  switch (change.kind) {
    case "more-workers":
      return (
        <>
          <Choice
            label="like"
            value={change.like}
            values={workers}
            onPick={(like) => onChange({ ...change, like })}
          />
          <Amount
            label="how many"
            value={change.count}
            min={1}
            onSet={(count) => onChange({ ...change, count: count ?? 1 })}
          />
        </>
      );
    case "without-worker":
      return (
        <Choice
          label="worker"
          value={change.worker}
          values={workers}
          onPick={(worker) => onChange({ ...change, worker })}
        />
      );
    case "slots":
      return (
        <>
          <Choice
            label="worker"
            value={change.worker}
            values={workers}
            onPick={(worker) => onChange({ ...change, worker })}
          />
          <Amount
            label="slots"
            value={change.slots}
            min={1}
            onSet={(slots) => onChange({ ...change, slots: slots ?? 1 })}
          />
        </>
      );
    case "strategy":
      return (
        <Choice
          label="strategy"
          value={change.strategy}
          values={STRATEGIES}
          onPick={(strategy) => onChange({ ...change, strategy })}
        />
      );
    case "order":
      return (
        <Choice
          label="order"
          value={change.order}
          values={ORDERS}
          onPick={(order) => onChange({ ...change, order })}
        />
      );
    case "prefetch":
      return (
        <Amount
          label="tasks"
          value={change.prefetch}
          min={0}
          onSet={(prefetch) => onChange({ ...change, prefetch: prefetch ?? 0 })}
        />
      );
    case "priority":
      return (
        <>
          <Text
            label="of type (any)"
            value={change.type ?? ""}
            onSet={(type) => onChange(without({ ...change, type }))}
          />
          <Text
            label="of agent (any)"
            value={change.agent ?? ""}
            onSet={(agent) => onChange(without({ ...change, agent }))}
          />
          <Choice
            label="priority"
            value={change.priority}
            values={PRIORITIES}
            onPick={(priority) => onChange({ ...change, priority })}
          />
        </>
      );
    case "agent-limit":
      return (
        <>
          <Text label="agent" value={change.agent} onSet={(agent) => onChange({ ...change, agent })} />
          <Amount
            label="at once (none)"
            value={change.max}
            min={0}
            onSet={(max) => onChange({ ...change, max })}
          />
        </>
      );
    case "limit":
      return (
        <>
          <Text label="limit" value={change.name} onSet={(name) => onChange({ ...change, name })} />
          <Amount
            label="at once (none)"
            value={change.max}
            min={0}
            onSet={(max) => onChange({ ...change, max })}
          />
        </>
      );
    case "speculation":
      return (
        <Amount
          label="ways"
          value={change.ways}
          min={0}
          onSet={(ways) => onChange({ ...change, ways: ways ?? 0 })}
        />
      );
  }
}

/** Nothing typed is no condition. */
function without(change: Extract<WhatIfChange, { kind: "priority" }>): WhatIfChange {
  const { type, agent, ...rest } = change;
  return { ...rest, ...(type && { type }), ...(agent && { agent }) };
}

interface ChoiceProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly values: readonly Value[];
  readonly onPick: (value: Value) => void;
}

function Choice<Value extends string>({ label, value, values, onPick }: ChoiceProps<Value>) {
  // What an address names may not be there.
  const all = values.includes(value) ? values : [value, ...values];
  return (
    <label className="field">
      <span>{label}</span>
      <select value={value} onChange={({ target }) => onPick(target.value as Value)}>
        {all.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  );
}

function Text({
  label,
  value,
  onSet,
}: {
  readonly label: string;
  readonly value: string;
  readonly onSet: (value: string) => void;
}) {
  const id = useId();
  return (
    <label className="field" htmlFor={id}>
      <span>{label}</span>
      <input id={id} value={value} maxLength={256} onChange={({ target }) => onSet(target.value)} />
    </label>
  );
}

interface AmountProps {
  readonly label: string;
  /** Null: none. */
  readonly value: number | null;
  readonly min: number;
  readonly onSet: (value: number | null) => void;
}

function Amount({ label, value, min, onSet }: AmountProps) {
  return (
    <label className="field">
      <span>{label}</span>
      <input
        type="number"
        inputMode="numeric"
        min={min}
        value={value ?? ""}
        onChange={({ target }) =>
          onSet(target.value === "" ? null : Math.max(min, Math.floor(target.valueAsNumber)))
        }
      />
    </label>
  );
}
