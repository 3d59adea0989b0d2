import { useQueryClient } from "@tanstack/react-query";
import { useCaller } from "../api/queries.ts";
import { session, signIn, signOut } from "../api/session.ts";
import { useKept } from "../parts/kept.ts";
import { TIME_MODES, type TimeMode, timeMode } from "../time/time.tsx";
import { THEMES, type Theme, theme } from "./theme.ts";

/** Who looks, and how they like it. */
export function Menu() {
  const { data: caller } = useCaller();
  return (
    <details className="menu">
      <summary className="icon-button" aria-label="Settings and account" title="Settings and account">
        ☰
      </summary>
      <div className="menu-body">
        <label>
          Times
          <select value={useKept(timeMode)} onChange={({ target }) => timeMode.set(target.value as TimeMode)}>
            {TIME_MODES.map((mode) => (
              <option key={mode} value={mode}>
                {mode === "utc" ? "UTC" : mode}
              </option>
            ))}
          </select>
        </label>
        <label>
          Colours
          <select value={useKept(theme)} onChange={({ target }) => theme.set(target.value as Theme)}>
            {THEMES.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        {caller && <ZoneChoice zone={caller.zone} zones={caller.zones} />}
        {caller && (
          <p className="quiet">
            {caller.name || caller.key_id}: {caller.scopes.join(", ")}
            {caller.version !== null && <br />}
            {caller.version !== null && `Orrery ${caller.version}`}
          </p>
        )}
        <p>
          <a href="/docs">API documentation</a>
        </p>
        <button type="button" onClick={() => signOut()}>
          Sign out
        </button>
      </div>
    </details>
  );
}

/** A key may allow one zone, some, or all; of all nobody has a list. */
function ZoneChoice({ zone, zones }: { readonly zone: string; readonly zones: readonly string[] }) {
  const client = useQueryClient();
  const choose = (next: string) => {
    const { key } = session() ?? {};
    if (key === undefined || next === "" || next === zone) return;
    signIn({ key, zone: next });
    void client.resetQueries();
  };
  if (!zones.includes("*"))
    return (
      <label>
        Zone
        <select value={zone} onChange={({ target }) => choose(target.value)}>
          {zones.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
    );
  return (
    <label>
      Zone
      <input
        key={zone}
        defaultValue={zone}
        onBlur={({ target }) => choose(target.value.trim())}
        onKeyDown={({ key, currentTarget }) => key === "Enter" && currentTarget.blur()}
      />
    </label>
  );
}
