export { chromeTrace, type TraceEvent } from "./chrome-trace.ts";
export {
  type Attempt,
  completions,
  History,
  outcomeOf,
  packLanes,
  type RunStory,
} from "./history.ts";
