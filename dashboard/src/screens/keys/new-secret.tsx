import type { NewKeyAnswer } from "../../../../src/protocol/api-schemas.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Panel } from "../../parts/panel.tsx";

interface NewSecretProps {
  readonly made: NewKeyAnswer;
  readonly onClose: () => void;
}

export function NewSecret({ made, onClose }: NewSecretProps) {
  return (
    <Panel title={`The key ${made.name}`} className="new-secret">
      <p>It is shown this once; only a hash of it is kept.</p>
      <p>
        <code data-secret={made.id}>{made.secret}</code>
      </p>
      <div className="buttons">
        <CopyButton text={made.secret}>Copy</CopyButton>
        <button type="button" className="primary" onClick={onClose}>
          I have it
        </button>
      </div>
    </Panel>
  );
}
