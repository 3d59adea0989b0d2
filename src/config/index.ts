export { type ConfigProblem, type Origin, problemLine } from "./origin.ts";
export type { GivenOption } from "./outside.ts";
export type { SchedulingSettings, SpeculationSettings } from "./planner-settings.ts";
export { type Config, readConfig } from "./read-config.ts";
export type { Reader } from "./setting.ts";
export { optionsFor, type Settings } from "./table.ts";
