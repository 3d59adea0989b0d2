import { useState } from "react";
import type { KeyBody, NewKeyAnswer } from "../../../../src/protocol/api-schemas.ts";
import { makeKey } from "../../api/admin-queries.ts";
import { useCaller } from "../../api/queries.ts";
import { EditForm } from "../../parts/edit-form.tsx";
import { Field, TextField } from "../../parts/field.tsx";

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
      zones: namesIn(zones),
      agents: namesIn(agents),
      ...(life !== "never" && { expires_at: new Date(Date.now() + LIVES[life] * DAY_MS).toISOString() }),
    };
    onMade(await makeKey(body));
  };
  const allowed = (caller?.scopes ?? []) as readonly Scope[];
  return (
    <EditForm label="A new key" save="Make it" onSave={save} onClose={onClose}>
      <TextField name="Name" pointer="/name" size={14} placeholder="ci" value={name} onChange={setName} />
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
      <TextField
        name="Zones"
        pointer="/zones"
        size={14}
        placeholder="default, or * for all"
        value={zones}
        onChange={setZones}
      />
      <TextField
        name="Agents"
        pointer="/agents"
        size={14}
        placeholder="ci, or * for all"
        value={agents}
        onChange={setAgents}
      />
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

function namesIn(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}
