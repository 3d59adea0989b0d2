export type { ConfigProblem, Origin } from "./origin.ts";
export type { GivenOption } from "./outside.ts";
export type { SchedulingSettings, SpeculationSettings } from "./planner-settings.ts";
export { type Config, problemLine, readConfig } from "./read-config.ts";
export type { Settings } from "./table.ts";
