import { useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";
import { useMay } from "../api/queries.ts";
import { LiveBadge } from "./live-badge.tsx";
import { Menu } from "./menu.tsx";
import { useScreens } from "./use-screens.ts";

export function Header({
  onPalette,
  onKeys,
  onPast,
}: {
  readonly onPalette: () => void;
  readonly onKeys: () => void;
  readonly onPast: () => void;
}) {
  const [location] = useLocation();
  const mayLook = useMay("operator");
  const screens = useScreens();
  const nav = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: where one is changes what is to be seen
  useEffect(() => {
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [location, screens]);
  return (
    <header className="header">
      <Link href="/" className="brand" aria-label="Orrery, to the overview">
        <img src="/icon.svg" alt="" width="22" height="22" />
        <span className="brand-name">Orrery</span>
      </Link>
      <nav aria-label="Screens" ref={nav}>
        {screens.map(({ path, name }) => (
          <Link key={path} href={path} aria-current={isHere(location, path) ? "page" : undefined}>
            {name}
          </Link>
        ))}
      </nav>
      <LiveBadge />
      {mayLook && (
        <button
          type="button"
          className="icon-button"
          onClick={onPast}
          aria-label="Look at the past"
          title="Look at the past (h)"
        >
          ↺
        </button>
      )}
      <button type="button" className="search-button" onClick={onPalette} title="Go to anything (Ctrl K)">
        <span className="search-word">Go to…</span> <kbd>⌃K</kbd>
      </button>
      <button type="button" className="icon-button" onClick={onKeys} aria-label="Keys" title="Keys (?)">
        ?
      </button>
      <Menu />
    </header>
  );
}

function isHere(location: string, path: string): boolean {
  return path === "/" ? location === "/" : location === path || location.startsWith(`${path}/`);
}
