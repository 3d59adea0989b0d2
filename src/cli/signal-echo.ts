/** Nobody presses a key twice within this time, and nothing that passes a signal on takes longer. */
const ECHO_MS = 200;

/**
 * Tells a Ctrl-C from its echo: a terminal sends it to all processes in front of it, and npm (`npm start`, `npx`) passes on to its
 * child what it gets itself, so that the child gets one twice.
 */
export function echoDetector(): (signal: NodeJS.Signals) => boolean {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (signal) => {
    if (signal !== "SIGINT") return false;
    const isEcho = performance.now() - lastMs < ECHO_MS;
    if (!isEcho) lastMs = performance.now();
    return isEcho;
  };
}
