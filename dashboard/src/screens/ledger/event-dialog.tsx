import type { LedgerEventAnswer } from "../../../../src/protocol/api-schemas.ts";
import { lookAt } from "../../api/moment.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Facts } from "../../parts/facts.tsx";
import { countText } from "../../parts/numbers.ts";
import { About } from "./event-list.tsx";

interface EventDialogProps {
  readonly event: LedgerEventAnswer;
  readonly onClose: () => void;
}

/** All that the ledger says of one event, and the way to its moment. */
export function EventDialog({ event, onClose }: EventDialogProps) {
  const { seq, at, kind, zone, data } = event;
  const text = JSON.stringify(data, null, 2);
  const look = (moment: number) => {
    onClose();
    lookAt(moment);
  };
  return (
    <Dialog title={`Event ${seq}`} onClose={onClose}>
      <h2>
        {kind} <span className="quiet">event {countText(seq)}</span>
      </h2>
      <Facts
        facts={[
          ["time", at],
          ["about", <About key="about" event={event} />],
          ["zone", zone],
        ]}
      />
      <pre className="event-data">{text}</pre>
      <div className="buttons">
        <CopyButton text={text}>Copy</CopyButton>
        <button type="button" onClick={() => look(seq - 1)}>
          Look just before
        </button>
        <button type="button" className="primary" onClick={() => look(seq)}>
          Look at this moment
        </button>
      </div>
    </Dialog>
  );
}
