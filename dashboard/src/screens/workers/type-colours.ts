/** Hues that can be told apart, in degrees of OKLCH; none is that of a failure. */
const HUES = [255, 160, 315, 70, 200, 345, 125, 285, 50, 225];
/** How light and how strong a colour is, on light and on dark; twice, for twice as many types. */
const SHADES = [
  { light: "0.56 0.13", dark: "0.74 0.11" },
  { light: "0.4 0.1", dark: "0.86 0.08" },
] as const;
const PLACES = HUES.length * SHADES.length;

/**
 * A place in the palette for each type: the one that its name says or, where another type has that already, the next. So a
 * type has the same colour everywhere, and few types have colours of their own.
 */
export function placesOf(types: Iterable<string>): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  const taken = new Set<number>();
  for (const type of [...new Set(types)].sort()) {
    let place = hashOf(type) % PLACES;
    for (let tries = 0; taken.has(place) && tries < PLACES; tries++) place = (place + 1) % PLACES;
    taken.add(place);
    places.set(type, place);
  }
  return places;
}

export function colourAt(place: number, isDark: boolean): string {
  const hue = HUES[place % HUES.length] as number;
  const shade = SHADES[Math.floor(place / HUES.length) % SHADES.length] as (typeof SHADES)[number];
  return `oklch(${isDark ? shade.dark : shade.light} ${hue})`;
}

/** For style sheets, which know by themselves which colours are shown. */
export function coloursAt(place: number): string {
  return `light-dark(${colourAt(place, false)}, ${colourAt(place, true)})`;
}

/** FNV-1a, and what makes each bit of it depend on every letter. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
