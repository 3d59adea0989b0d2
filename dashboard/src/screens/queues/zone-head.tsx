import { useState } from "react";
import type { QueuesAnswer } from "../../../../src/protocol/api-schemas.ts";
import { setZone } from "../../api/queue-queries.ts";
import { EditForm } from "../../parts/edit-form.tsx";
import { choiceOf, chosen, typedNumber } from "./choice.ts";
import { ConcurrencyField } from "./limit-fields.tsx";
import { concurrencyText, typedConcurrency } from "./limit-words.ts";
import { PauseButton } from "./pause-button.tsx";
import { QueueState } from "./queue-state.tsx";

interface ZoneHeadProps {
  readonly answer: QueuesAnswer;
  readonly mayEdit: boolean;
}

/** What holds for the whole zone. */
export function ZoneHead({ answer, mayEdit }: ZoneHeadProps) {
  const [isEditing, setEditing] = useState(false);
  const { zone, paused, max_concurrent, own_max_concurrent } = answer;
  return (
    <>
      <div className="task-title">
        <div>
          <h1>
            Zone {zone} <QueueState isPaused={paused} />
          </h1>
          <p className="quiet zone-share" data-fact="zone-share">
            Each agent without a limit of its own: {concurrencyText(max_concurrent)}
            {own_max_concurrent ? "" : ", as the settings say"}
          </p>
        </div>
        {mayEdit && (
          <div className="buttons">
            <button type="button" onClick={() => setEditing(true)}>
              Share of each agent…
            </button>
            <PauseButton zone={zone} isPaused={paused} />
          </div>
        )}
      </div>
      {mayEdit && isEditing && <ZoneForm answer={answer} onClose={() => setEditing(false)} />}
    </>
  );
}

function ZoneForm({ answer, onClose }: { readonly answer: QueuesAnswer; readonly onClose: () => void }) {
  const { max_concurrent, own_max_concurrent } = answer;
  const [share, setShare] = useState(() =>
    typedConcurrency(choiceOf(own_max_concurrent, max_concurrent), max_concurrent),
  );
  return (
    <div className="panel">
      <EditForm
        label="Share of each agent"
        save="Save"
        onSave={() => setZone(chosen("max_concurrent", share.choice, typedNumber(share.count)))}
        onClose={onClose}
      >
        <ConcurrencyField
          name="Each agent runs"
          pointer="/max_concurrent"
          inherited="as the settings say"
          value={share}
          onChange={setShare}
        />
      </EditForm>
    </div>
  );
}
