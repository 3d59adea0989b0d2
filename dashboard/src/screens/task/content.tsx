import type { TaskAnswer } from "../../../../src/protocol/api-schemas.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Panel } from "../../parts/panel.tsx";

/** More than this is not laid out; it can still be copied. */
const MOST_CHARS = 200_000;

export function Content({ task }: { readonly task: TaskAnswer }) {
  const { payload, result, held_result: held, status } = task;
  return (
    <div className="content">
      <Json title="Payload" value={payload} />
      {status === "completed" ? (
        <Json title={held ? "Result, on its worker" : "Result"} value={held ?? result} />
      ) : null}
    </div>
  );
}

function Json({ title, value }: { readonly title: string; readonly value: unknown }) {
  const text = JSON.stringify(value, undefined, 2) ?? "null";
  return (
    <Panel title={title} aside={<CopyButton text={text}>Copy</CopyButton>}>
      <pre className="json">
        {text.slice(0, MOST_CHARS)}
        {text.length > MOST_CHARS && "…"}
      </pre>
    </Panel>
  );
}
