import { useState } from "react";
import type { NewKeyAnswer } from "../../../../src/protocol/api-schemas.ts";
import { useKeys } from "../../api/admin-queries.ts";
import { useMay } from "../../api/queries.ts";
import { Panel } from "../../parts/panel.tsx";
import { Problem } from "../../parts/problem.tsx";
import { useTitle } from "../../shell/title.ts";
import { Audit } from "./audit.tsx";
import { KeyForm } from "./key-form.tsx";
import { KeyTable } from "./key-table.tsx";
import { NewSecret } from "./new-secret.tsx";

/** Who may come in, and what was done by whom. */
export function Keys() {
  useTitle("Keys");
  const { data, error, refetch } = useKeys();
  const isAdmin = useMay("admin");
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<NewKeyAnswer>();
  if (!isAdmin) return <p className="quiet">Keys are for admins: to see them takes the scope admin.</p>;
  if (error && !data) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <p className="quiet loading">Looking…</p>;
  return (
    <div className="keys">
      <h1 className="visually-hidden">Keys and audit</h1>
      {made && <NewSecret made={made} onClose={() => setMade(undefined)} />}
      <Panel
        title="Keys"
        aside={
          <button type="button" onClick={() => setMaking(true)}>
            New key…
          </button>
        }
      >
        {isMaking && <KeyForm onMade={setMade} onClose={() => setMaking(false)} />}
        <KeyTable keys={data.keys} />
      </Panel>
      <Audit keys={data.keys} />
    </div>
  );
}
