/** So many turns at most are decided and not yet committed: what is remembered until it is stored goes back so far. */
export const MAX_IN_FLIGHT = 3;
