import { fileURLToPath } from "node:url";
import { command } from "orrery/worker";

/**
 * An image as a camera might give it: a PPM of some MB.
 *
 * @param {number} width
 * @param {number} height
 * @param {number} hue
 */
export function photograph(width, height, hue) {
  const header = Buffer.from(`P6 ${width} ${height} 255\n`);
  const pixels = Buffer.alloc(3 * width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = 3 * (y * width + x);
      pixels[at] = (255 * x) / width;
      pixels[at + 1] = (255 * y) / height;
      pixels[at + 2] = hue;
    }
  }
  return Buffer.concat([header, pixels]);
}

/** A program that reads an image from its input and writes a small one to its output. `convert - png:-` would do as well. */
export const thumbnail = command(
  process.execPath,
  [fileURLToPath(new URL("./shrink.mjs", import.meta.url)), "8"],
  { output: "bytes" },
);
