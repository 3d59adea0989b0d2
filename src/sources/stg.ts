import type { Activity, Project } from "../plan/index.ts";
import { eachLine, type NumberRow, NumberRows } from "./number-rows.ts";
import { baseName, MAX_TICKS, PLAIN, Problems, type ReadResult } from "./result.ts";

/**
 * Graphs of the Standard Task Graph Set (`.stg`): how many tasks, then a line for each with its number, its duration,
 * and how many and which tasks come before it. The count leaves out the two dummies at the ends, which take no time
 * and so no slot.
 */
export function readStg(text: string, fileName: string): ReadResult {
  const problems = new Problems();
  const [head, ...rows] = readRows(text, problems);
  if (!head && problems.isEmpty) problems.add(1, "the file is empty; its first line is the number of tasks");
  if (!head || !problems.isEmpty) return problems.result();
  const [count = 0, ...others] = head.numbers;
  if (others.length > 0)
    problems.add(head.line, `expected the number of tasks alone, not ${head.numbers.length} numbers`);
  else if (rows.length !== count && rows.length !== count + 2) {
    const message = `the file should have ${count} tasks, or ${count + 2} with the dummies, and has ${rows.length}`;
    problems.add(head.line, message);
  }
  const activities = readActivities(rows, problems);
  if (!problems.isEmpty) return problems.result();
  const unit = { name: "units", ticks: 1 } as const;
  const project: Project = { name: baseName(fileName), unit, activities, capacities: {}, findings: [] };
  return { ok: true, project };
}

/** Behind a # are comments; the files of the set end with some. */
function readRows(text: string, problems: Problems): NumberRow[] {
  const reader = new NumberRows(problems);
  const rows: NumberRow[] = [];
  eachLine(text, (line, number) => {
    const comment = line.indexOf("#");
    const row = reader.read(comment === -1 ? line : line.slice(0, comment), number);
    if (row && row.numbers.length > 0) rows.push(row);
    return !problems.isOver;
  });
  return rows;
}

function readActivities(rows: readonly NumberRow[], problems: Problems): Activity[] {
  const ids = new Set<number>();
  for (const { line, numbers } of rows) {
    const [id = 0, duration = 0, count] = numbers;
    if (ids.has(id)) problems.add(line, `task ${id} is given twice`);
    ids.add(id);
    if (duration > MAX_TICKS)
      problems.add(line, `${duration} is too large; at most ${MAX_TICKS} can be planned`);
    if (count === undefined)
      problems.add(line, `task ${id} must have a duration and a number of predecessors`);
    else if (count !== numbers.length - 3) {
      const message = `task ${id} should have ${count} predecessors and has ${numbers.length - 3}; costs of communication cannot be planned`;
      problems.add(line, message);
    }
  }
  return rows.map(({ line, numbers }) => {
    const [id = 0, duration = 0] = numbers;
    const needs = new Set<string>();
    for (let index = 3; index < numbers.length; index++) {
      const need = numbers[index] as number;
      if (!ids.has(need)) problems.add(line, `task ${id} needs task ${need}, which does not exist`);
      needs.add(String(need));
    }
    const uses: Activity["uses"] = duration > 0 ? { slots: 1 } : {};
    return { id: String(id), needs: [...needs], duration, uses, ...PLAIN };
  });
}
