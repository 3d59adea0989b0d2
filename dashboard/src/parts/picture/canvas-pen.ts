import { bendOf, DASH, type Fill, FONT, type Lettering, type Pen, type Stroke } from "./pen.ts";

export class CanvasPen implements Pen {
  readonly #context: CanvasRenderingContext2D;

  constructor(context: CanvasRenderingContext2D) {
    this.#context = context;
  }

  fill(boxes: readonly number[], { colour, radius = 0, opacity = 1 }: Fill): void {
    const context = this.#context;
    this.#boxes(boxes, radius);
    context.globalAlpha = opacity;
    context.fillStyle = colour;
    context.fill();
    context.globalAlpha = 1;
  }

  outline(boxes: readonly number[], stroke: Stroke, radius = 0): void {
    this.#boxes(boxes, radius);
    this.#stroke(stroke);
  }

  lines(ends: readonly number[], stroke: Stroke): void {
    const context = this.#context;
    context.beginPath();
    for (let at = 0; at < ends.length; at += 4) {
      context.moveTo(ends[at] as number, ends[at + 1] as number);
      context.lineTo(ends[at + 2] as number, ends[at + 3] as number);
    }
    this.#stroke(stroke);
  }

  curves(ends: readonly number[], stroke: Stroke): void {
    const context = this.#context;
    context.beginPath();
    for (let at = 0; at < ends.length; at += 4) {
      const [fromX, fromY] = [ends[at] as number, ends[at + 1] as number];
      const [toX, toY] = [ends[at + 2] as number, ends[at + 3] as number];
      const bend = bendOf(fromX, toX);
      context.moveTo(fromX, fromY);
      context.bezierCurveTo(fromX + bend, fromY, toX - bend, toY, toX, toY);
    }
    this.#stroke(stroke);
  }

  text(x: number, y: number, text: string, lettering: Lettering): void {
    const { colour, size, align = "left", isBold = false, maxWidth } = lettering;
    const context = this.#context;
    context.font = `${isBold ? "600 " : ""}${size}px ${FONT}`;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillStyle = colour;
    context.fillText(maxWidth === undefined ? text : this.#cut(text, maxWidth), x, y);
  }

  within(x: number, y: number, width: number, height: number, draw: () => void): void {
    const context = this.#context;
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    draw();
    context.restore();
  }

  #boxes(boxes: readonly number[], radius: number): void {
    const context = this.#context;
    context.beginPath();
    for (let at = 0; at < boxes.length; at += 4) {
      const [x, y] = [boxes[at] as number, boxes[at + 1] as number];
      const [width, height] = [boxes[at + 2] as number, boxes[at + 3] as number];
      if (radius > 0) context.roundRect(x, y, width, height, radius);
      else context.rect(x, y, width, height);
    }
  }

  #stroke({ colour, width = 1, isDashed = false, opacity = 1 }: Stroke): void {
    const context = this.#context;
    context.globalAlpha = opacity;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash(isDashed ? DASH : []);
    context.stroke();
    context.globalAlpha = 1;
  }

  #cut(text: string, maxWidth: number): string {
    const context = this.#context;
    if (context.measureText(text).width <= maxWidth) return text;
    let [low, high] = [0, text.length];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (context.measureText(`${text.slice(0, middle)}…`).width <= maxWidth) low = middle;
      else high = middle - 1;
    }
    return low === 0 ? "" : `${text.slice(0, low)}…`;
  }
}
