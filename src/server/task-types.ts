/**
 * A worker has a capability for each task type that it can run, and a task asks for that of its own. So a task waits
 * for a worker that knows it, and every rule about capabilities holds for types too.
 */
const PREFIX = "type:";

export function withType(capabilities: readonly string[], type: string): readonly string[] {
  return withTypes(capabilities, [type]);
}

export function withTypes(capabilities: readonly string[], types: readonly string[]): readonly string[] {
  return [...new Set([...capabilities, ...types.map((type) => PREFIX + type)])].sort();
}

/** What a worker said of itself: its capabilities, and its types. */
export function apart(capabilities: readonly string[]): {
  readonly capabilities: readonly string[];
  readonly types: readonly string[];
} {
  return {
    capabilities: capabilities.filter((name) => !name.startsWith(PREFIX)),
    types: capabilities.filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length)),
  };
}
