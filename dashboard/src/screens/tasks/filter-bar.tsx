import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from "react";
import type { TaskSummary } from "../../../../src/protocol/api-schemas.ts";
import { isFilterProblem, readFilter } from "../../../../src/protocol/task-filter.ts";
import { useShortcuts } from "../../shell/shortcuts.ts";
import { type Suggestion, suggestionsFor, wordAt } from "./completion.ts";

interface FilterBarProps {
  readonly filter: string;
  /** Values of these are suggested. */
  readonly tasks: readonly TaskSummary[];
  readonly onChange: (filter: string) => void;
}

const FIELDS: Readonly<Record<string, keyof TaskSummary>> = {
  type: "task_type",
  executor: "executor_id",
  agent: "agent_id",
  run: "run_id",
};

/** The filter as a text, with what could come next. It counts when it is entered. */
export function FilterBar({ filter, tasks, onChange }: FilterBarProps) {
  const [text, setText] = useState(filter);
  const [caret, setCaret] = useState(filter.length);
  const [place, setPlace] = useState(-1);
  const [isOpen, setOpen] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  useEffect(() => setText(filter), [filter]);
  useShortcuts(useMemo(() => [{ keys: "/", does: "filter", run: () => input.current?.focus() }], []));
  const { from, word } = wordAt(text, caret);
  const suggestions = isOpen ? suggestionsFor(word, (key) => seenIn(tasks, FIELDS[key])) : [];
  const read = readFilter(text);
  const enter = (next: string) => {
    setOpen(false);
    onChange(next.trim());
  };
  const take = ({ word: taken, isWhole }: Suggestion) => {
    const next = `${text.slice(0, from)}${taken}${isWhole ? " " : ""}${text.slice(caret).trimStart()}`;
    setText(next);
    setCaret(from + taken.length + (isWhole ? 1 : 0));
    setPlace(-1);
    if (isWhole && !isFilterProblem(readFilter(next))) onChange(next.trim());
    input.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const chosen = suggestions[place];
    const count = suggestions.length;
    if (event.key === "Enter" && chosen) take(chosen);
    else if (event.key === "Enter") enter(text);
    else if (event.key === "Tab" && isOpen && suggestions[Math.max(0, place)] && word !== "")
      take(suggestions[Math.max(0, place)] as Suggestion);
    else if (event.key === "ArrowDown" && count > 0) setPlace((place + 1) % count);
    else if (event.key === "ArrowUp" && count > 0) setPlace((place + count - 1) % count);
    else if (event.key === "Escape") setOpen(false);
    else return;
    event.preventDefault();
  };
  return (
    <search className="filter">
      <input
        ref={input}
        value={text}
        spellCheck={false}
        autoComplete="off"
        placeholder="All tasks. Filter by status:queued type:resize wait>5m …"
        aria-label="Filter"
        role="combobox"
        aria-expanded={suggestions.length > 0}
        aria-controls={listId}
        aria-activedescendant={place >= 0 ? `${listId}-${place}` : undefined}
        aria-invalid={isFilterProblem(read)}
        onChange={({ target }) => {
          setText(target.value);
          setCaret(target.selectionStart ?? target.value.length);
          setPlace(-1);
          setOpen(true);
        }}
        onSelect={({ currentTarget }) => setCaret(currentTarget.selectionStart ?? 0)}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKeyDown}
      />
      {filter !== "" && (
        <button type="button" onClick={() => enter("")}>
          Clear
        </button>
      )}
      <div
        id={listId}
        role="listbox"
        aria-label="Suggestions"
        className="suggestions"
        hidden={suggestions.length === 0}
      >
        {suggestions.map((suggestion, at) => (
          <button
            key={suggestion.word}
            id={`${listId}-${at}`}
            type="button"
            role="option"
            tabIndex={-1}
            aria-selected={at === place}
            // Before the input loses the focus, which would close the list.
            onMouseDown={(event) => {
              event.preventDefault();
              take(suggestion);
            }}
          >
            <code>{suggestion.word}</code> <span className="quiet">{suggestion.does}</span>
          </button>
        ))}
      </div>
      <p className="filter-problem" role="status">
        {isFilterProblem(read) && !isOpen ? `The filter ${read.detail}.` : ""}
      </p>
    </search>
  );
}

function seenIn(tasks: readonly TaskSummary[], field: keyof TaskSummary | undefined): string[] {
  if (field === undefined) return [];
  const values = tasks.map((task) => task[field]).filter((value) => typeof value === "string");
  return [...new Set(values)].sort();
}
