import { useState } from "react";
import { grantCredits } from "../../api/queue-queries.ts";
import { EditForm } from "../../parts/edit-form.tsx";
import { Field } from "../../parts/field.tsx";

interface CreditsFormProps {
  readonly agent: string;
  readonly onClose: () => void;
}

export function CreditsForm({ agent, onClose }: CreditsFormProps) {
  const [amount, setAmount] = useState("");
  return (
    <EditForm
      label={`Credits for ${agent}`}
      save="Give"
      onSave={() => grantCredits(agent, amount.trim())}
      onClose={onClose}
    >
      <Field name="Give credits" pointer="/amount">
        {(field) => (
          <input
            {...field}
            inputMode="decimal"
            size={10}
            placeholder="10.5"
            value={amount}
            onChange={({ target }) => setAmount(target.value)}
          />
        )}
      </Field>
    </EditForm>
  );
}
