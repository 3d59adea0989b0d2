import { finished } from "node:stream";
import { ClusterAnswer, StepDownAnswer } from "../../protocol/api-schemas.ts";
import { Problem } from "./problems.ts";
import { type App, answers, type ClusterStatus, type Edge } from "./route.ts";

const tags = ["cluster"];

/** A server that has not been heard of for so long is not there. */
const LOST_AFTER_MS = 10_000;

/** The servers that share the store span all zones, so they are for operators. */
export function clusterRoutes(app: App, edge: Pick<Edge, "cluster">): void {
  clusterStatusRoute(app, edge);
  app.post(
    "/cluster/step-down",
    {
      config: { scopes: ["operator"], ignoresBody: true, audit: "leader.step-down" },
      schema: {
        summary: "Let another server lead",
        description: "What is being committed is finished first. Nothing is lost, and workers go on.",
        tags,
        response: answers({ 200: StepDownAnswer }),
      },
    },
    async (_, reply) => {
      const stepping = await edge.cluster.stepDown();
      if (!stepping)
        throw new Problem(
          "no-standby",
          "no other server follows; start a second one on the same store first",
        );
      const { name, epoch } = stepping;
      // Whoever hands on requests gives up those that a server has which no longer leads.
      finished(reply.raw, () => stepping.goAhead());
      return { name, epoch };
    },
  );
}

/** Answered by whoever is asked, also while nobody leads. */
export function clusterStatusRoute(app: App, { cluster }: Pick<Edge, "cluster">): void {
  app.get(
    "/cluster",
    {
      config: { scopes: ["operator"] },
      schema: {
        summary: "The servers that share the store, and which of them leads",
        tags,
        response: answers({ 200: ClusterAnswer }),
      },
    },
    async () => clusterAnswer(await cluster.status()),
  );
}

function clusterAnswer({ name, leadership, leaseMs, members }: ClusterStatus): ClusterAnswer {
  const { holder, url, epoch, seq } = leadership;
  const leader = nameOf(holder);
  return {
    name,
    leader: holder === "" ? null : { name: leader, url: url === "" ? null : url },
    epoch,
    seq,
    members: members.map((member) => ({
      name: member.name,
      url: member.url,
      role: roleOf(member, leader, leaseMs),
      seq: member.seq,
      lag: Math.max(0, seq - member.seq),
      seen_seconds_ago: member.seenMsAgo / 1000,
    })),
  };
}

/** What it says of itself is as old as that. */
function roleOf(
  { name, role, seenMsAgo }: ClusterStatus["members"][number],
  leader: string,
  leaseMs: number,
): ClusterAnswer["members"][number]["role"] {
  if (seenMsAgo > Math.max(LOST_AFTER_MS, leaseMs)) return "lost";
  if (role !== "leader" || name === leader) return role;
  return seenMsAgo > leaseMs / 2 ? "lost" : "follower";
}

/** A holder is a server's name with what tells its lives apart. */
function nameOf(holder: string): string {
  return holder.replace(/\/[^/]*$/, "");
}
