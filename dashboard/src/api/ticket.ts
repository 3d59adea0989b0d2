import type { SessionAnswer } from "../../../src/protocol/api-schemas.ts";
import { post } from "./request.ts";
import { session, signIn, signOut } from "./session.ts";

/** Signs in by the link that the server printed, and takes the ticket out of the address before anything else. */
export async function redeemTicket(): Promise<void> {
  const ticket = /^#ticket=(.+)$/.exec(location.hash)?.[1];
  if (ticket === undefined) return;
  history.replaceState(null, "", location.pathname + location.search);
  try {
    const { key } = await post<SessionAnswer>("/session", { body: { ticket }, as: null });
    signIn({ key });
  } catch (error) {
    // Whoever is signed in already does not need it.
    if (!session()) signOut((error as Error).message);
  }
}
