const HIDDEN = "***";

export function masked(): string {
  return HIDDEN;
}

/** A URL may hold a password before the host, and among its parameters. */
export function withoutPassword(url: string): string {
  return (
    url
      // To the last @: a password may hold what should have been escaped.
      .replace(/^([a-z]+:\/\/[^:@/]*:).*@/is, `$1${HIDDEN}@`)
      .replace(/([?&][^=&#]*(?:pass|secret|key|token)[^=&#]*=)[^&#]*/gi, `$1${HIDDEN}`)
  );
}
