import { useState } from "react";
import { grantCredits } from "../../api/queue-queries.ts";
import { EditForm } from "../../parts/edit-form.tsx";
import { TextField } from "../../parts/field.tsx";

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
      <TextField
        name="Give credits"
        pointer="/amount"
        inputMode="decimal"
        size={10}
        placeholder="10.5"
        value={amount}
        onChange={setAmount}
      />
    </EditForm>
  );
}
