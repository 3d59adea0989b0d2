import { Runtime } from "./runtime.ts";

/** The only state of this part that is not within a runtime. Nothing in here looks at it. */
let started: Promise<Runtime> | undefined;

/** A runtime of the profile service for programs that need one and no more; it is started when it is first asked for. */
export function defaultRuntime(): Promise<Runtime> {
  started ??= Runtime.start();
  return started;
}
