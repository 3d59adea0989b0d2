export { LEASE_MS, leadOrRefuse, untilLeading } from "./candidate.ts";
export { Forwarder } from "./forwarder.ts";
export type { Term } from "./term.ts";
