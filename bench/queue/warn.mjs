/**
 * Where no PostgreSQL can be started the store falls back to memory, which would be measured under a wrong name.
 *
 * @param {string} message
 */
export function warn(message) {
  if (message.startsWith("NOTHING WILL BE KEPT")) throw new Error(message);
  process.stderr.write(`${message}\n`);
}
