import { useState } from "react";
import type { KeyBody, NewKeyAnswer } from "../../../../src/protocol/api-schemas.ts";
import { makeKey } from "../../api/admin-queries.ts";
import { useCaller } from "../../api/queries.ts";
import { EditForm } from "../../parts/edit-form.tsx";
import { Field } from "../../parts/field.tsx";

const DAY_MS = 86_400_000;
/** How long keys are valid. */
const LIVES = { never: 0, "in a day": 1, "in 30 days": 30, "in a year": 365 } as const;
type Life = keyof typeof LIVES;
type Scope = KeyBody["scopes"][number];

interface KeyFormProps {
  readonly onMade: (made: NewKeyAnswer) => void;
  readonly onClose: () => void;
}

export function KeyForm({ onMade, onClose }: KeyFormProps) {
  const { data: caller } = useCaller();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["submit", "read"]);
  const [zones, setZones] = useState("");
  const [agents, setAgents] = useState("");
  const [life, setLife] = useState<Life>("never");
  const toggle = (scope: Scope) =>
    setScopes(scopes.includes(scope) ? scopes.filter((one) => one !== scope) : [...scopes, scope]);
  const save = async () => {
    const body: KeyBody = {
      name,
      scopes: [...scopes],
      ...(zones.trim() !== "" && { zones: namesIn(zones) }),
      ...(agents.trim() !== "" && { agents: namesIn(agents) }),
      ...(life !== "never" && { expires_at: new Date(Date.now() + LIVES[life] * DAY_MS).toISOString() }),
    };
    onMade(await makeKey(body));
  };
  const allowed = (caller?.scopes ?? []) as readonly Scope[];
  return (
    <EditForm label="A new key" save="Make it" onSave={save} onClose={onClose}>
      <Field name="Name" pointer="/name">
        {(field) => (
          <input
            {...field}
            size={14}
            placeholder="ci"
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        )}
      </Field>
      <Field name="May" pointer="/scopes">
        {({ id, ...described }) => (
          <fieldset id={id} className="scopes" {...described}>
            <legend className="visually-hidden">What it may do</legend>
            {allowed.map((scope) => (
              <label key={scope}>
                <input type="checkbox" checked={scopes.includes(scope)} onChange={() => toggle(scope)} />
                {scope}
              </label>
            ))}
          </fieldset>
        )}
      </Field>
      <Names name="Zones" pointer="/zones" value={zones} onChange={setZones} />
      <Names name="Agents" pointer="/agents" value={agents} onChange={setAgents} />
      <Field name="Ends" pointer="/expires_at">
        {(field) => (
          <select {...field} value={life} onChange={({ target }) => setLife(target.value as Life)}>
            {Object.keys(LIVES).map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
      </Field>
    </EditForm>
  );
}

interface NamesProps {
  readonly name: string;
  readonly pointer: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Names({ name, pointer, value, onChange }: NamesProps) {
  return (
    <Field name={name} pointer={pointer}>
      {(field) => (
        <input
          {...field}
          size={14}
          placeholder="as your key"
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}

function namesIn(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}
