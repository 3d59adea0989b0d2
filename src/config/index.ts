export { settingsTables } from "./documentation.ts";
export { originText, problemLine } from "./origin.ts";
export { type GivenOption, unknownVariables } from "./outside.ts";
export { type Config, readConfig } from "./read-config.ts";
export { configSchema } from "./schema.ts";
export type { Reader } from "./setting.ts";
export { type ShownSetting, shownSettings } from "./shown.ts";
export { optionsFor, refusalOf, type Settings } from "./table.ts";
export { valueText } from "./value-text.ts";
