/** Where the tasks are that have this value: what a filter would read as several words stands in quotes. */
export function tasksWith(key: "agent" | "executor" | "type", value: string): string {
  const word = /[\s",]/.test(value) ? `"${value.replaceAll('"', "")}"` : value;
  return `/tasks?filter=${encodeURIComponent(`${key}:${word}`)}`;
}
