import { Field } from "../../parts/field.tsx";
import type { Choice } from "./choice.ts";

/** What whoever edits a limit has chosen and typed. */
export interface Typed {
  readonly choice: Choice;
  readonly count: string;
  readonly perSeconds: string;
}

interface LimitFieldProps {
  readonly name: string;
  readonly pointer: string;
  readonly value: Typed;
  readonly onChange: (value: Typed) => void;
  /** What holds where it is left to others; undefined: it cannot be. */
  readonly inherited?: string;
}

/** How many at once. */
export function ConcurrencyField(props: LimitFieldProps) {
  return <LimitField {...props} unit="at once" />;
}

/** How many in how long. */
export function RateField(props: LimitFieldProps) {
  return <LimitField {...props} unit="in" isRate />;
}

function LimitField(props: LimitFieldProps & { readonly unit: string; readonly isRate?: boolean }) {
  const { name, pointer, value, onChange, inherited, unit, isRate = false } = props;
  return (
    <Field name={name} pointer={pointer}>
      {(field) => (
        <>
          <select
            {...field}
            value={value.choice}
            onChange={({ target }) => onChange({ ...value, choice: target.value as Choice })}
          >
            {inherited !== undefined && <option value="inherited">{inherited}</option>}
            <option value="none">no limit</option>
            <option value="given">at most</option>
          </select>
          {value.choice === "given" && (
            <>
              <input
                inputMode="numeric"
                size={7}
                aria-label={`${name}: how many`}
                aria-invalid={field["aria-invalid"]}
                value={value.count}
                onChange={({ target }) => onChange({ ...value, count: target.value })}
              />
              <span className="quiet">{unit}</span>
              {isRate && (
                <>
                  <input
                    inputMode="decimal"
                    size={5}
                    aria-label={`${name}: in how many seconds`}
                    aria-invalid={field["aria-invalid"]}
                    value={value.perSeconds}
                    onChange={({ target }) => onChange({ ...value, perSeconds: target.value })}
                  />
                  <span className="quiet">s</span>
                </>
              )}
            </>
          )}
        </>
      )}
    </Field>
  );
}
