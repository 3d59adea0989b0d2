import { ABOUT, AMOUNT, PLANNED, RESOURCES, ROWS, type Row } from "./table.ts";
import type { JsonSchema } from "./value-type.ts";

/** A JSON Schema of the file, for editors. */
export function configSchema(): JsonSchema {
  const sections = Object.entries(ABOUT).map(([section, about]) => [
    section,
    {
      description: `${plain(about)}.`,
      ...(section === RESOURCES ? RESOURCE_SCHEMA : sectionSchema(section)),
    },
  ]);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "orrery.yaml",
    description:
      "Settings of Orrery. Keys of the planner's specification say so; all others are Orrery's own.",
    type: ["object", "null"],
    properties: Object.fromEntries(sections) as unknown,
    additionalProperties: false,
  };
}

const RESOURCE_SCHEMA: JsonSchema = {
  type: ["object", "null"],
  propertyNames: { minLength: 1, not: { enum: [...PLANNED.keys()].map((path) => path.split(".")[1]) } },
  additionalProperties: AMOUNT.schema,
};

function sectionSchema(section: string): JsonSchema {
  const rows = ROWS.filter((row) => row.section === section);
  return {
    type: ["object", "null"],
    properties: Object.fromEntries(rows.map((row) => [row.setting.key, settingSchema(row)])),
    additionalProperties: false,
  };
}

function settingSchema({ setting: { type, about, isSpecified, ...setting } }: Row): JsonSchema {
  const standard = setting.default === undefined ? {} : { default: type.write(setting.default) };
  const from = isSpecified ? " (From the planner's specification.)" : "";
  return { description: `${plain(about)}: ${plain(type.words)}.${from}`, ...type.schema, ...standard };
}

/** Editors show it as it is. */
function plain(text: string): string {
  return text.replaceAll("`", "");
}
