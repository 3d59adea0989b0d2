import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { WorkerAnswer } from "../../../../src/protocol/api-schemas.ts";
import { drainWorker } from "../../api/fleet-queries.ts";
import { useMoment } from "../../api/moment.ts";
import { useMay } from "../../api/queries.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";

/** For admins of the worker's home zone, as long as it takes work. */
export function DrainButton({ worker }: { readonly worker: WorkerAnswer }) {
  const [isAsking, setAsking] = useState(false);
  const client = useQueryClient();
  const isPast = useMoment() !== undefined;
  const mayDrain = useMay("admin") && worker.zone !== "" && !isPast;
  if (!mayDrain || worker.status === "Draining" || worker.status === "Unreachable") return null;
  const drain = async () => {
    await drainWorker(worker.id);
    await client.invalidateQueries({ queryKey: ["workers"] });
  };
  return (
    <>
      <button type="button" className="danger" onClick={() => setAsking(true)}>
        Drain…
      </button>
      {isAsking && (
        <ConfirmDialog
          question={`Drain ${worker.id}?`}
          confirm="Drain it"
          isDanger
          onConfirm={drain}
          onClose={() => setAsking(false)}
        >
          <p>
            It finishes the {worker.held} tasks that it has and takes nothing new. To take work again it has
            to be started anew.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}
