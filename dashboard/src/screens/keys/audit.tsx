import type { AuditAnswer, KeyAnswer } from "../../../../src/protocol/api-schemas.ts";
import { useAudit } from "../../api/admin-queries.ts";
import { Panel } from "../../parts/panel.tsx";
import { Scroll } from "../../parts/scroll.tsx";
import { TableHead } from "../../parts/table-head.tsx";
import { Time } from "../../time/time.tsx";

type Entry = AuditAnswer["entries"][number];

/** What each action is called. */
const WORDS: Readonly<Record<string, string>> = {
  "key.create": "made the key",
  "key.revoke": "revoked the key",
  "key.rotate": "replaced the key",
  "worker.drain": "drained the worker",
  "queue.pause": "paused",
  "queue.resume": "resumed",
  "zone.set": "set the share of agents in",
  "agent.set": "set the limits of",
  "agent.credits": "gave credits to",
  "limit.set": "set the limit",
  "tasks.cancel": "cancelled all tasks with",
  "tasks.retry": "retried all tasks with",
  "task.cancel": "cancelled the task",
  "task.retry": "retried the task",
  "task.recharge": "recharged the task",
  "run.cancel": "cancelled the run",
  "run.release": "released the results of the run",
  "schedule.create": "made the schedule",
  "schedule.pause": "paused the schedule",
  "schedule.resume": "resumed the schedule",
  "schedule.run": "ran the schedule",
  "schedule.delete": "deleted the schedule",
  "webhook.create": "made a webhook to",
  "webhook.update": "changed the webhook",
  "webhook.rotate": "replaced the secret of the webhook",
  "webhook.test": "tested the webhook",
  "webhook.redeliver": "sent again a delivery of the webhook",
  "webhook.delete": "deleted the webhook",
  "ticket.issue": "made a login link for the",
  "session.create": "signed in to the",
  "leader.step-down": "let another lead than",
};

/** What admins did, newest first. */
export function Audit({ keys }: { readonly keys: readonly KeyAnswer[] }) {
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useAudit();
  const entries = data?.pages.flatMap((page) => page.entries) ?? [];
  const nameOf = (id: string) => keys.find((key) => key.id === id)?.name;
  return (
    <Panel title="Audit" aside={<span className="quiet">who did what in this zone</span>}>
      {error && <p className="failed">{error.message}</p>}
      {data && entries.length === 0 ? (
        <p className="quiet">Nobody has changed anything yet.</p>
      ) : (
        <Scroll label="What was done">
          <table className="data queue-table audit-table">
            <TableHead columns={["when", "who", "key", "did", "how"]} />
            <tbody>
              {entries.map((entry) => (
                <tr key={entry.id} data-action={entry.action}>
                  <td>
                    <Time at={entry.at} />
                  </td>
                  <td>{entry.agent}</td>
                  <td title={entry.key_id}>{nameOf(entry.key_id) ?? entry.key_id.slice(-12)}</td>
                  <td>
                    {WORDS[entry.action] ?? entry.action} <b>{targetText(entry, nameOf)}</b>
                  </td>
                  <td className="mono quiet">
                    {entry.before && <s>{detailText(entry.before)}</s>} {detailText(entry.detail)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {hasNextPage && (
        <p>
          <button type="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show older
          </button>
        </p>
      )}
    </Panel>
  );
}

function targetText({ action, target, detail }: Entry, nameOf: (id: string) => string | undefined): string {
  if (action.startsWith("key.")) return nameOf(target) ?? String(detail["name"] ?? target);
  return target === "" ? "no filter" : target;
}

function detailText(detail: Entry["detail"]): string {
  return Object.entries(detail)
    .map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : String(value)}`)
    .join(", ");
}
