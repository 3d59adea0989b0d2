export { aboutOf, aboutTask, inputsOf } from "./about.ts";
export type {
  About,
  AboutAlternative,
  AboutChunk,
  AboutInput,
  AboutTask,
  Attachment,
  Fact,
  TaskInputs,
} from "./attachment.ts";
export { steadyClock } from "./clock.ts";
export { ClockWatch } from "./clock-watch.ts";
export { Driver } from "./driver.ts";
export type { Recorder } from "./driver-options.ts";
export { Follower } from "./follower.ts";
export { Projection } from "./projection.ts";
export type { Answer } from "./request.ts";
