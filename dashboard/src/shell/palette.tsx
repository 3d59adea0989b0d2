import { useState } from "react";
import { useLocation } from "wouter";
import { signOut } from "../api/session.ts";
import { Dialog } from "../parts/dialog.tsx";
import { timeMode } from "../time/time.tsx";
import type { Screen } from "./screens.ts";
import { theme } from "./theme.ts";
import { useScreens } from "./use-screens.ts";

interface Choice {
  readonly name: string;
  readonly run: () => void;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Goes to what is typed: a screen, a task or a run by its id, tasks by a filter. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [, navigate] = useLocation();
  const [text, setText] = useState("");
  const [place, setPlace] = useState(0);
  const choices = choicesFor(text.trim(), navigate, useScreens());
  const chosen = Math.min(place, choices.length - 1);
  const take = (choice: Choice | undefined) => {
    onClose();
    choice?.run();
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (event.key === "Enter") take(choices[chosen]);
    else if (step !== undefined) setPlace((chosen + step + choices.length) % choices.length);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to anything" onClose={onClose}>
      <input
        className="palette-input"
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setPlace(0);
        }}
        onKeyDown={onKeyDown}
        placeholder="A screen, the id of a task or a run, or a filter such as status:failed"
        aria-label="Go to"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-choices"
        aria-activedescendant={`palette-${chosen}`}
      />
      <div id="palette-choices" role="listbox" aria-label="Choices" className="palette-choices">
        {choices.map((choice, at) => (
          <button
            key={choice.name}
            type="button"
            id={`palette-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={at === chosen}
            onClick={() => take(choice)}
          >
            {choice.name}
          </button>
        ))}
      </div>
    </Dialog>
  );
}

function choicesFor(text: string, navigate: (to: string) => void, screens: readonly Screen[]): Choice[] {
  const tasks = (filter: string) => () => navigate(`/tasks?filter=${encodeURIComponent(filter)}`);
  if (UUID.test(text))
    return [
      { name: `Task ${text}`, run: () => navigate(`/tasks/${text.toLowerCase()}`) },
      { name: `Run ${text}`, run: () => navigate(`/runs/${text.toLowerCase()}`) },
    ];
  const all: Choice[] = [
    ...screens.map(({ name, path }) => ({ name, run: () => navigate(path) })),
    { name: "Failed tasks", run: tasks("status:failed") },
    { name: "Waiting tasks", run: tasks("status:queued") },
    { name: "Running tasks", run: tasks("status:running") },
    ...(["light", "dark", "auto"] as const).map((name) => ({
      name: `Colours: ${name}`,
      run: () => theme.set(name),
    })),
    ...(["relative", "local", "utc"] as const).map((name) => ({
      name: `Times: ${name}`,
      run: () => timeMode.set(name),
    })),
    { name: "Sign out", run: () => signOut() },
  ];
  const found = all.filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()));
  return /[:<>]/.test(text) ? [{ name: `Tasks with ${text}`, run: tasks(text) }, ...found] : found;
}
