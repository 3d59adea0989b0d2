import { bendOf, DASH, type Fill, FONT, type Lettering, type Pen, type Stroke } from "./pen.ts";

/** Of its size, about what a letter takes on average. */
const LETTER = 0.56;

/** Writes a picture that needs nothing else: every colour is in it, and no style sheet, font or script. */
export class SvgPen implements Pen {
  readonly #parts: string[] = [];
  #clips = 0;

  fill(boxes: readonly number[], { colour, radius = 0, opacity = 1 }: Fill): void {
    this.#boxes(boxes, radius, `fill="${colour}"${opacity === 1 ? "" : ` fill-opacity="${opacity}"`}`);
  }

  outline(boxes: readonly number[], stroke: Stroke, radius = 0): void {
    this.#boxes(boxes, radius, strokeOf(stroke));
  }

  lines(ends: readonly number[], stroke: Stroke): void {
    let path = "";
    for (let at = 0; at < ends.length; at += 4)
      path += `M${short(ends[at])} ${short(ends[at + 1])}L${short(ends[at + 2])} ${short(ends[at + 3])}`;
    if (path !== "") this.#parts.push(`<path d="${path}" ${strokeOf(stroke)}/>`);
  }

  curves(ends: readonly number[], stroke: Stroke): void {
    let path = "";
    for (let at = 0; at < ends.length; at += 4) {
      const [fromX, fromY] = [ends[at] as number, ends[at + 1] as number];
      const [toX, toY] = [ends[at + 2] as number, ends[at + 3] as number];
      const bend = bendOf(fromX, toX);
      path += `M${short(fromX)} ${short(fromY)}C${short(fromX + bend)} ${short(fromY)} ${short(toX - bend)} ${short(toY)} ${short(toX)} ${short(toY)}`;
    }
    if (path !== "") this.#parts.push(`<path d="${path}" ${strokeOf(stroke)}/>`);
  }

  text(x: number, y: number, text: string, lettering: Lettering): void {
    const { colour, size, align = "left", isBold = false, maxWidth = Number.POSITIVE_INFINITY } = lettering;
    const most = Math.floor(maxWidth / (size * LETTER));
    const shown = text.length <= most ? text : most < 2 ? "" : `${text.slice(0, most - 1)}…`;
    if (shown === "") return;
    const anchor = { left: "", center: ' text-anchor="middle"', right: ' text-anchor="end"' }[align];
    const weight = isBold ? ' font-weight="600"' : "";
    this.#parts.push(
      `<text x="${short(x)}" y="${short(y)}" dy=".35em" font-size="${size}" fill="${colour}"${anchor}${weight}>${escaped(shown)}</text>`,
    );
  }

  within(x: number, y: number, width: number, height: number, draw: () => void): void {
    const id = `clip${++this.#clips}`;
    const box = `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
    this.#parts.push(`<clipPath id="${id}"><rect ${box}/></clipPath><g clip-path="url(#${id})">`);
    draw();
    this.#parts.push("</g>");
  }

  /** The whole of it, as a document of its own. */
  toString(width: number, height: number, title: string, background: string): string {
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escaped(FONT)}" role="img">`,
      `<title>${escaped(title)}</title><rect width="${width}" height="${height}" fill="${background}"/>`,
      ...this.#parts,
      "</svg>",
    ].join("\n");
  }

  #boxes(boxes: readonly number[], radius: number, paint: string): void {
    let path = "";
    for (let at = 0; at < boxes.length; at += 4) {
      const [x, y, width, height] = [boxes[at], boxes[at + 1], boxes[at + 2], boxes[at + 3]];
      const rounded = radius > 0 ? ` rx="${radius}"` : "";
      if (radius > 0)
        this.#parts.push(
          `<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"${rounded} ${paint}/>`,
        );
      else path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-(width ?? 0))}z`;
    }
    if (path !== "") this.#parts.push(`<path d="${path}" ${paint}/>`);
  }
}

function strokeOf({ colour, width = 1, isDashed = false, opacity = 1 }: Stroke): string {
  const dash = isDashed ? ` stroke-dasharray="${DASH.join(" ")}"` : "";
  return `fill="none" stroke="${colour}" stroke-width="${width}"${dash}${opacity === 1 ? "" : ` stroke-opacity="${opacity}"`}`;
}

function short(value = 0): string {
  return String(Math.round(value * 10) / 10);
}

/** For XML and HTML alike; what XML has no place for is left out. */
export function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`)
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");
}
