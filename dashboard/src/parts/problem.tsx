import { Refused } from "../api/request.ts";

interface ProblemProps {
  readonly error: Error;
  readonly onRetry?: () => void;
}

/** What went wrong, in the server's words. */
export function Problem({ error, onRetry }: ProblemProps) {
  const code = error instanceof Refused ? error.code : "";
  return (
    <div className="panel problem" role="alert">
      <p>
        {error.message}
        {code !== "" && <span className="quiet"> ({code})</span>}
      </p>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
