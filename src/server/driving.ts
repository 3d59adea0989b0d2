/** The loop without the wire: for those who turn it in a world of their own. */
export type { Attachment } from "./attachment.ts";
export { type Answer, Driver, type Recorder } from "./driver.ts";
export { Projection } from "./projection.ts";
