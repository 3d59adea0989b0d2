import { useState } from "react";
import type { LimitAnswer } from "../../../../src/protocol/api-schemas.ts";
import { setLimit } from "../../api/queue-queries.ts";
import { EditForm } from "../../parts/edit-form.tsx";
import { TextField } from "../../parts/field.tsx";
import { choiceOf, chosen, typedNumber } from "./choice.ts";
import { ConcurrencyField, RateField } from "./limit-fields.tsx";
import { rateOf, typedConcurrency, typedRate } from "./limit-words.ts";

interface LimitFormProps {
  /** Undefined: a new one. */
  readonly limit: LimitAnswer | undefined;
  readonly onClose: () => void;
}

export function LimitForm({ limit, onClose }: LimitFormProps) {
  const { concurrency = null, rate = null } = limit ?? {};
  const [name, setName] = useState(limit?.name ?? "");
  const [running, setRunning] = useState(() =>
    typedConcurrency(limit ? choiceOf(true, concurrency) : "given", concurrency),
  );
  const [starts, setStarts] = useState(() => typedRate(choiceOf(true, rate), rate));
  const save = () =>
    setLimit(name, {
      ...chosen("concurrency", running.choice, typedNumber(running.count)),
      ...chosen("rate", starts.choice, rateOf(starts)),
    });
  return (
    <EditForm label={limit ? `Limit ${name}` : "A new limit"} save="Save" onSave={save} onClose={onClose}>
      {!limit && (
        <TextField
          name="Name"
          pointer="/name"
          size={16}
          placeholder="openai"
          value={name}
          onChange={setName}
        />
      )}
      <ConcurrencyField name="Runs" pointer="/concurrency" value={running} onChange={setRunning} />
      <RateField name="Starts" pointer="/rate" value={starts} onChange={setStarts} />
    </EditForm>
  );
}
