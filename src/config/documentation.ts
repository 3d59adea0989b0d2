import { ABOUT, RESOURCES, ROWS, type Row } from "./table.ts";
import { valueText } from "./value-text.ts";

/** The tables of docs/configuration.md, in Markdown. */
export function settingsTables(): string {
  return Object.entries(ABOUT)
    .map(([section, about]) => [`### ${section}`, "", `${about}.`, ...tableOf(section)].join("\n"))
    .join("\n\n");
}

/** The sections that the planner's specification knows. */
const SPECIFIED = new Set(ROWS.filter(({ setting }) => setting.isSpecified).map(({ section }) => section));

function tableOf(section: string): string[] {
  const heading = ["", "| key | default | what it is | may be | for |", "|---|---|---|---|---|"];
  const rows = ROWS.filter((row) => row.section === section);
  return section === RESOURCES ? RESOURCE_WORDS : [...heading, ...rows.map(line)];
}

const RESOURCE_WORDS = [
  "",
  "Any name, such as `gpu: 2`; a whole number from 0 on. For plan, serve, run. There are no variables for these, but `--set resources.gpu=2`.",
];

function line(row: Row): string {
  const { key, type, about, readers, isSpecified, option, variable, defaultWords } = row.setting;
  const standard = defaultWords ?? `\`${valueText(type.write(row.setting.default))}\``;
  const also = [option, variable].filter((name) => name !== undefined).map((name) => `\`${name}\``);
  const cells = [
    `\`${key}\`${isSpecified || !SPECIFIED.has(row.section) ? "" : " *(ours)*"}`,
    standard,
    `${about}${also.length > 0 ? ` (also ${also.join(", ")})` : ""}`,
    type.words,
    readers.join(", "),
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}
