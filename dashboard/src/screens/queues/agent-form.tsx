import { useState } from "react";
import type { AgentAnswer } from "../../../../src/protocol/api-schemas.ts";
import { setAgent } from "../../api/queue-queries.ts";
import { EditForm } from "../../parts/edit-form.tsx";
import { choiceOf, chosen, typedNumber } from "./choice.ts";
import { ConcurrencyField, RateField } from "./limit-fields.tsx";
import { rateOf, typedConcurrency, typedRate } from "./limit-words.ts";

interface AgentFormProps {
  readonly agent: AgentAnswer;
  readonly onClose: () => void;
}

export function AgentForm({ agent, onClose }: AgentFormProps) {
  const { own_max_concurrent, max_concurrent, own_rate, rate } = agent;
  const [running, setRunning] = useState(() =>
    typedConcurrency(choiceOf(own_max_concurrent, max_concurrent), max_concurrent),
  );
  const [submits, setSubmits] = useState(() => typedRate(choiceOf(own_rate, rate), rate));
  const save = () =>
    setAgent(agent.agent, {
      ...chosen("max_concurrent", running.choice, typedNumber(running.count)),
      ...chosen("rate", submits.choice, rateOf(submits)),
    });
  return (
    <EditForm label={`Limits of ${agent.agent}`} save="Save" onSave={save} onClose={onClose}>
      <ConcurrencyField
        name="Runs"
        pointer="/max_concurrent"
        inherited="as the zone says"
        value={running}
        onChange={setRunning}
      />
      <RateField
        name="Submits"
        pointer="/rate"
        inherited="as the settings say"
        value={submits}
        onChange={setSubmits}
      />
    </EditForm>
  );
}
